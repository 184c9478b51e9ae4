"""What people write first: Flask, gunicorn threads, a synchronous Redis client; the same duties as the receiver.

`REDIS_URL=... APP_SECRET=... gunicorn -k gthread --threads 16 benchmarks.peers.flask_receiver:app`
"""

import hashlib
import hmac
import json
import os
import time

import redis
from flask import Flask, request

app = Flask(__name__)
_store = redis.Redis.from_url(os.environ["REDIS_URL"])
_secret = os.environ["APP_SECRET"].encode()

# Drop what was seen, keep what is new, note when it is due: less than receive.lua does, and no ledger.
_STORE = """
for i = 2, #ARGV, 3 do
  if redis.call('SET', 'seen:' .. ARGV[i], '1', 'NX', 'EX', '172800') then
    redis.call('RPUSH', 'inbox:' .. ARGV[i + 1], ARGV[i + 2])
    redis.call('ZADD', 'due', ARGV[1], ARGV[i + 1])
  end
end
"""
_store_all = _store.register_script(_STORE)


@app.post("/webhooks/meta")
def receive() -> tuple[str, int]:
    raw = request.get_data()
    signature = "sha256=" + hmac.new(_secret, raw, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(signature, request.headers.get("X-Hub-Signature-256", "")):
        return "Forbidden", 403
    arguments: list[str] = [str(int(time.time() * 1000) + 4000)]
    for entry in json.loads(raw)["entry"]:
        for item in entry["messaging"]:
            arguments += [item["message"]["mid"], f"{entry['id']}:{item['sender']['id']}", json.dumps(item)]
    _store_all(args=arguments)
    return "EVENT_RECEIVED", 200
