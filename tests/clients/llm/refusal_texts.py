"""What servers really say when they refuse: bodies from public reports, each with the cure that helps, or none.

`asks` names the kind of request that was refused, see `test_refusals.py`. `limit` is the most `max_tokens` that the
server would have taken after this refusal (0: the refusal is not about that).
"""

from bot.agent.repairs import Repair
from tests.clients.llm.refusal import (
    CREDITS,
    LIMIT_NAME,
    MIDDLE_OUT,
    ROLES,
    VERIFIED,
    Refusal,
    openai,
    raw,
    router,
    vllm,
)

CURED = [
    # max_tokens is called otherwise
    Refusal("openai gpt-5, langgenius/dify#24307", 400,
            openai(LIMIT_NAME, param="max_tokens", code="unsupported_parameter"), Repair.LIMIT_NAME),
    Refusal("copilot proxy, caozhiyuan/copilot-api#164", 400,
            {"error": {"message": LIMIT_NAME, "code": "invalid_request_body"}}, Repair.LIMIT_NAME),
    Refusal("azure through litellm", 400,
            openai(f"litellm.BadRequestError: AzureException BadRequestError - {LIMIT_NAME}"), Repair.LIMIT_NAME),
    Refusal("azure through openrouter", 400, raw(LIMIT_NAME), Repair.LIMIT_NAME),
    Refusal("codex backend", 400, {"detail": "Unsupported parameter: max_tokens"}, Repair.LIMIT_NAME),
    Refusal("strict gateway", 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "max_tokens"],
            "msg": "Extra inputs are not permitted", "input": 8000}]}, Repair.LIMIT_NAME),
    # no tools
    Refusal("ollama, pydantic/pydantic-ai#703", 400,
            openai("registry.ollama.ai/library/llama3:8b does not support tools", kind="api_error"), Repair.NO_TOOLS),
    Refusal("ollama, native, ollama/ollama#14795", 400,
            {"error": "registry.ollama.ai/library/Qwen3.5:0.8b does not support tools"}, Repair.NO_TOOLS),
    Refusal("llama.cpp, QwenLM/Qwen3.8#44", 500,
            {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}},
            Repair.NO_TOOLS),
    Refusal("llama.cpp, ggml-org/llama.cpp#10920", 500,
            {"code": 500, "message": "Unsupported param: tools", "type": "server_error"}, Repair.NO_TOOLS),
    Refusal("vllm without a parser, vllm-project/vllm#9986", 400,
            vllm('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
            Repair.NO_TOOLS),
    Refusal("openrouter, pydantic/pydantic-ai#2896", 404,
            router("No endpoints found that support tool use. To learn more about provider routing, visit: "
                   "https://openrouter.ai/docs/provider-routing", 404), Repair.NO_TOOLS),
    Refusal("openrouter, Kilo-Org/kilocode#9006", 404,
            router('No endpoints found that support tool use. Try disabling "question".', 404), Repair.NO_TOOLS),
    Refusal("deepinfra, truefoundry/models#944", 405,
            {"error": {"message": "deepinfra error: Tool calling is not supported for model: mistralai/Mistral-Small",
                       "type": "APIError", "code": "405"}}, Repair.NO_TOOLS),
    Refusal("gemma at google, agno-agi/agno#3505", 400,
            [{"error": {"code": 400, "message": "Function calling is not enabled for models/gemma-3-12b-it",
                        "status": "INVALID_ARGUMENT"}}], Repair.NO_TOOLS),
    Refusal("mistral", 400, {"object": "error", "message": "Function calling is not enabled for this model",
            "type": "invalid_request_error", "code": "3051"}, Repair.NO_TOOLS),
    Refusal("mistral, partITech/php-mistral#76", 422,
            {"object": "Error", "detail": [{"type": "extra_forbidden", "loc": ["body", "tools"],
             "msg": "Extra inputs are not permitted", "input": []}], "code": 3001}, Repair.NO_TOOLS),
    Refusal("groq, agno-agi/agno#137", 400, openai("`tools` is not supported with this model"), Repair.NO_TOOLS),
    Refusal("groq", 400, openai("`tool calling` is not supported with this model", param="tool calling"),
            Repair.NO_TOOLS),
    Refusal("siliconflow", 400, {"code": 20037, "message": "Function call is not supported for this model."},
            Repair.NO_TOOLS),
    Refusal("bedrock", 400, {"message": "This model doesn't support tool use."}, Repair.NO_TOOLS),
    Refusal("o1-mini", 400, openai("Unsupported parameter: 'tools' is not supported with this model.",
            param="tools", code="unsupported_parameter"), Repair.NO_TOOLS),
    # no stream
    Refusal("o3, chatboxai/chatbox#2263", 400, openai(VERIFIED, param="stream", code="unsupported_value"),
            Repair.IN_ONE_PIECE),
    Refusal("o3 through openrouter, pal-mcp-server#134", 400, raw(VERIFIED), Repair.IN_ONE_PIECE),
    Refusal("o1, NextChat#5410", 400,
            openai("Unsupported value: 'stream' does not support true with this model. Only the default (false) value "
                   "is supported.", param="stream", code="unsupported_value"), Repair.IN_ONE_PIECE),
    Refusal("bedrock", 400, {"message": "This model doesn't support tool use in streaming mode."},
            Repair.IN_ONE_PIECE),
    # no system role
    Refusal("gemma 2 on vllm, huggingface/chat-ui#1386", 400, vllm("System role not supported"),
            Repair.SYSTEM_AS_USER),
    Refusal("gemma 2 on llama.cpp", 500,
            {"error": {"code": 500, "message": "Jinja Exception: System role not supported", "type": "server_error"}},
            Repair.SYSTEM_AS_USER),
    Refusal("o1-mini, tailcallhq/forgecode#1177", 400,
            openai("Unsupported value: 'messages[0].role' does not support 'system' with this model.",
                   param="messages[0].role", code="unsupported_value"), Repair.SYSTEM_AS_USER),
    Refusal("gemma 3 at google, microsoft/vscode#258088", 400,
            [{"error": {"code": 400, "message": "Developer instruction is not enabled for models/gemma-3-27b-it",
                        "status": "INVALID_ARGUMENT"}}], Repair.SYSTEM_AS_USER),
    Refusal("google, neo4j-labs/llm-graph-builder#555", 400,
            openai("The input system_instruction is not supported."), Repair.SYSTEM_AS_USER),
    Refusal("mistral 7B on vllm, microsoft/autogen#1037", 400, vllm(ROLES), Repair.SYSTEM_AS_USER),
    Refusal("mixtral, infiniflow/ragflow#11021", 400, vllm(f"{ROLES} {ROLES}"), Repair.SYSTEM_AS_USER),
    Refusal("an old template", 400, vllm("Only user and assistant roles are supported!"), Repair.SYSTEM_AS_USER),
    # strictly in turns
    Refusal("mistral 7B v0.3 on vllm, vllm-project/vllm#6862", 400,
            vllm("After the optional system message, conversation roles must alternate user/assistant/user/..."),
            Repair.ALTERNATE, asks="assistant first"),
    Refusal("lemonade, lemonade-sdk/lemonade#1420", 500,
            {"error": {"code": 500, "message": "Jinja Exception: After the optional system message, conversation "
             "roles must alternate user and assistant roles except for tool calls and results"}},
            Repair.ALTERNATE, asks="assistant first"),
    Refusal("perplexity", 400,
            openai("After the (optional) system message(s), user or tool message(s) should alternate with assistant "
                   "message(s).", kind="invalid_message"), Repair.ALTERNATE, asks="assistant first"),
    # thinking
    Refusal("openrouter", 400, router("Reasoning is mandatory for this endpoint and cannot be disabled.", 400),
            Repair.THINK, asks="no thinking"),
    # tool_choice
    Refusal("openrouter, zed-industries/zed#36094", 404,
            router("No endpoints found that support the provided 'tool_choice' value.", 404), Repair.ANY_TOOL_CHOICE,
            asks="last step"),
    Refusal("deepseek, DeepSeek-V3#1376", 400, openai("deepseek-reasoner does not support this tool_choice"),
            Repair.ANY_TOOL_CHOICE, asks="last step"),
    # temperature
    Refusal("gpt-5, owndev/Open-WebUI-Functions#98", 400,
            openai("Unsupported value: 'temperature' does not support 0.01 with this model. Only the default (1) value "
                   "is supported.", param="temperature", code="unsupported_value"), Repair.TEMPERATURE),
    Refusal("through litellm, lintsinghua/DeepAudit#80", 400,
            openai("OpenAIException - Unsupported value: 'temperature' does not support 0.2 with this model. Only the "
                   "default (1) value is supported."), Repair.TEMPERATURE),
    Refusal("kimi k3, dsh-portable-tavern#1", 400,
            {"message": "invalid temperature: only 1 is allowed for this model", "type": "invalid_request_error"},
            Repair.TEMPERATURE),
    Refusal("anthropic", 400, openai("`temperature` is deprecated for this model."), Repair.TEMPERATURE),
    Refusal("o1", 400, openai("Unsupported parameter: 'temperature' is not supported with this model.",
            param="temperature", code="unsupported_parameter"), Repair.TEMPERATURE),
    # earlier thoughts
    Refusal("groq, janhq/jan#8136", 400,
            openai("'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property "
                   "'reasoning_content' is unsupported)]"), Repair.NO_THOUGHTS, asks="thoughts"),
    Refusal("groq, vercel/ai#8057", 400,
            openai("messages[2].reasoning: reasoning is not supported with this model"), Repair.NO_THOUGHTS,
            asks="thoughts"),
    Refusal("cerebras, CherryHQ/cherry-studio#16790", 400,
            {"message": "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is "
             "unsupported", "type": "invalid_request_error", "param": "validation_error", "code": "wrong_api_format"},
            Repair.NO_THOUGHTS, asks="thoughts"),
    Refusal("mistral, charmbracelet/crush#1590", 422,
            {"object": "error", "message": {"detail": [{"type": "extra_forbidden", "msg": "Extra inputs are not "
             "permitted", "loc": ["body", "messages", 31, "assistant", "reasoning_content"], "input": "\n"}]},
             "type": "invalid_request_error"}, Repair.NO_THOUGHTS, asks="thoughts"),
    # room for the answer
    Refusal("vllm, ogx-ai/ogx#4534", 400,
            vllm("This model's maximum context length is 12288 tokens. However, you requested 14400 tokens (6400 in "
                 "the messages, 8000 in the completion). Please reduce the length of the messages or completion."),
            Repair.FEWER_TOKENS, limit=5888),
    Refusal("deepseek, evalstate/fast-agent#621", 400,
            openai("This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (123134 "
                   "in the messages, 8000 in the completion). Please reduce the length of the messages or completion.",
                   code="invalid_request_error"), Repair.FEWER_TOKENS, limit=7938),
    Refusal("azure with functions", 400,
            openai("This model's maximum context length is 8192 tokens. However, you requested 14355 tokens (6295 in "
                   "the messages, 60 in the functions, and 8000 in the completion).", param="messages",
                   code="context_length_exceeded"), Repair.FEWER_TOKENS, limit=1837),
    Refusal("old openai, run-llama/llama_index#948", 400,
            openai("This model's maximum context length is 10097 tokens, however you requested 11860 tokens (3860 in "
                   "your prompt; 8000 for the completion). Please reduce your prompt; or completion length."),
            Repair.FEWER_TOKENS, limit=6237),
    Refusal("vllm, newer", 400,
            vllm("'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is "
                 "12288 tokens and your request has 6400 input tokens (8000 > 12288 - 6400)."),
            Repair.FEWER_TOKENS, limit=5888),
    Refusal("vllm 0.20, vllm-project/vllm#42474", 400,
            vllm("This model's maximum context length is 16384 tokens. However, you requested 8000 output tokens and "
                 "your prompt contains at least 8385 input tokens, for a total of at least 16385 tokens."),
            Repair.FEWER_TOKENS, limit=7999),
    Refusal("openrouter, OpenHands#9937", 400,
            router("This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 "
                   f"tokens (127208 of text input, 3748 of tool input, 8000 in the output). {MIDDLE_OUT}", 400),
            Repair.NONE),
    Refusal("openrouter, musistudio/claude-code-router#252", 400,
            router("This endpoint's maximum context length is 65536 tokens. However, you requested about 72336 tokens "
                   f"(54294 of text input, 10042 of tool input, 8000 in the output). {MIDDLE_OUT}", 400),
            Repair.FEWER_TOKENS, limit=1200),
    Refusal("sglang", 400,
            {"object": "error", "message": "Requested token count exceeds the model's maximum context length of 32768 "
             "tokens. You requested a total of 34000 tokens: 26000 tokens from the input messages and 8000 tokens for "
             "the completion. Please reduce the number of tokens.", "type": "BadRequest", "code": 400},
            Repair.FEWER_TOKENS, limit=6768),
    Refusal("tgi, huggingface/huggingface_hub#2763", 422,
            {"error": {"message": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 10096. Given: "
             "3740 `inputs` tokens and 8000 `max_new_tokens`", "http_status_code": 422}},
            Repair.FEWER_TOKENS, limit=6356),
    Refusal("tgi within a 200, text-generation-inference#2749", None,
            {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 10096. Given: 3740 "
             "`inputs` tokens and 8000 `max_new_tokens`", "error_type": "validation"},
            Repair.FEWER_TOKENS, limit=6356),
    Refusal("anthropic, docker/docker-agent#569", 400,
            {"type": "error", "error": {"type": "invalid_request_error", "message": "input length and `max_tokens` "
             "exceed context limit: 195000 + 8000 > 200000, decrease input length or `max_tokens` and try again"}},
            Repair.FEWER_TOKENS, limit=5000),
    Refusal("groq, khoj-ai/khoj#1236", 400,
            openai("`max_completion_tokens` must be less than or equal to `4096`, the maximum value for "
                   "`max_completion_tokens` is less than the `context_window` for this model",
                   param="max_completion_tokens"), Repair.FEWER_TOKENS, limit=4096),
    Refusal("groq, skapadia3214/groq-moa#8", 400,
            openai("max_tokens for `llama-3.1-8b-instant` must be less than or equal to 4000"),
            Repair.FEWER_TOKENS, limit=4000),
    Refusal("openai", 400,
            openai("max_tokens is too large: 8000. This model supports at most 4096 completion tokens, whereas you "
                   "provided 8000.", param="max_tokens", code="invalid_value"), Repair.FEWER_TOKENS, limit=4096),
    Refusal("deepseek, Gitlawb/openclaude#35", 400,
            openai("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]"),
            Repair.FEWER_TOKENS, limit=4096),
    Refusal("alibaba", 400,
            openai("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 2000]",
                   code="invalid_parameter_error"), Repair.FEWER_TOKENS, limit=2000),
    Refusal("anthropic", 400,
            openai("max_tokens: 8000 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku"),
            Repair.FEWER_TOKENS, limit=4096),
    Refusal("openrouter, gpt_mobile#284", 402,
            router("This request requires more credits, or fewer max_tokens. You requested up to 8000 tokens, but can "
                   f"only afford 1200. {CREDITS}", 402), Repair.FEWER_TOKENS, limit=1200),
    Refusal("openrouter without a number", 402,
            router("This request requires more credits, or fewer max_tokens.", 402), Repair.FEWER_TOKENS, limit=4000),
    Refusal("groq's minute, continuedev/continue#10218", 413,
            openai("Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier "
                   "`on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message "
                   "size and try again.", kind="tokens", code="rate_limit_exceeded"), Repair.FEWER_TOKENS, limit=5863),
    Refusal("openai's minute, vanna-ai/vanna-flask#11", 429,
            openai("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 32389. The input or "
                   "output tokens must be reduced in order to run successfully.", kind="tokens",
                   code="rate_limit_exceeded"), Repair.FEWER_TOKENS, limit=5611),
]  # fmt: skip
