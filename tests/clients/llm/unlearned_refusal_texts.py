"""What servers really say when there is nothing to learn from it."""

from bot.agent.repairs import Repair
from tests.clients.llm.refusal import CREDITS, Refusal, openai, raw, router, vllm

# Refusals of another kind: nothing is learned from them, and the ladder does what it does.
OTHER = [
    Refusal("too little for a reply, continuedev/continue#11154", 402,
            router(f"This request requires more credits, or fewer max_tokens. You requested up to 8000 tokens, but can "
                   f"only afford 222. {CREDITS}", 402), Repair.NONE),
    Refusal("nothing at all, anomalyco/opencode#12219", 402,
            router("This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can "
                   "only afford 0.", 402), Repair.NONE),
    Refusal("no credit", 402, router("Insufficient credits. Add more using https://openrouter.ai/credits", 402),
            Repair.NONE),
    Refusal("the prompt alone, vllm", 400,
            vllm("This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (114946 in "
                 "the messages, 8000 in the completion)."), Repair.NONE),
    Refusal("the prompt alone, dimagi/open-chat-studio#463", 400,
            openai("This model's maximum context length is 8192 tokens. However, your messages resulted in 8202 "
                   "tokens. Please reduce the length of the messages.", param="messages",
                   code="context_length_exceeded"), Repair.NONE),
    Refusal("the prompt alone, llama.cpp#15780", 400,
            {"error": {"code": 400, "message": "the request exceeds the available context size. try increasing the "
             "context size or enable context shift", "type": "exceed_context_size_error", "n_prompt_tokens": 14429,
             "n_ctx": 8192}}, Repair.NONE),
    Refusal("the prompt alone, sglang", 400,
            {"message": "The input (160062 tokens) is longer than the model's context length (59862 tokens)."},
            Repair.NONE),
    Refusal("the prompt alone, tgi", 422,
            {"error": "Input validation error: `inputs` must have less than 3072 tokens. Given: 4100"}, Repair.NONE),
    Refusal("the prompt alone, lm studio, lmstudio-bug-tracker#237", 400,
            {"error": "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded "
             "with context length of only 4096 tokens, which is not enough."}, Repair.NONE),
    Refusal("the prompt alone, lm studio, anomalyco/opencode#11141", 400,
            {"error": "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}, Repair.NONE),
    Refusal("the prompt alone, gemini", 400,
            openai("The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."),
            Repair.NONE),
    Refusal("the prompt alone, vllm", 400, vllm("max_tokens must be at least 1, got -512."), Repair.NONE),
    Refusal("the key's limit, anomalyco/opencode#12219", 402,
            router("Prompt tokens limit exceeded: 230799 > 91442. To increase, visit https://openrouter.ai/settings/"
                   "keys and create a key with a higher monthly limit", 402), Repair.NONE),
    Refusal("parallel calls alone", 400, openai("parallel tool calls are not supported with this model"), Repair.NONE),
    Refusal("tool results with pictures", 400, openai("Image content in tool results is not supported"), Repair.NONE),
    Refusal("a tool's schema", 400,
            openai("Invalid schema for function 'search_knowledge': 'oneOf' is not permitted.",
                   param="tools[0].function.parameters", code="invalid_function_parameters"), Repair.NONE),
    Refusal("a tool's name", 400, openai("Invalid 'tools[0].function.name': string too long.",
            param="tools[0].function.name", code="string_above_max_length"), Repair.NONE),
    Refusal("an orphan result", 400,
            openai("messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."),
            Repair.NONE),
    Refusal("lost thoughts", 400,
            openai("The `reasoning_content` in the thinking mode must be passed back to the API."), Repair.NONE,
            asks="thoughts"),
    Refusal("system not first", 400, openai("System message must be at the beginning."), Repair.NONE),
    Refusal("prefill", 400, openai("Assistant response prefill is incompatible with enable_thinking."), Repair.NONE),
    Refusal("empty content", 400, openai("messages: text content blocks must be non-empty"), Repair.NONE),
    Refusal("order, mistral", 400,
            raw("Unexpected role 'user' after role 'tool'"), Repair.NONE),
    Refusal("moderation", 400, openai("Your request was flagged: the system does not allow this.",
            code="content_policy_violation"), Repair.NONE),
    Refusal("too few tokens", 400, openai("Invalid 'max_output_tokens': integer below minimum value. Expected a value "
            ">= 16, but got 1 instead.", param="max_tokens", code="integer_below_min_value"), Repair.NONE),
    Refusal("picture", 400, openai("This model does not support image input."), Repair.NONE),
    Refusal("json mode", 400, openai("This model does not support response_format json_schema."), Repair.NONE),
    Refusal("unknown model", 404, openai("The model `gpt-9` does not exist or you do not have access to it.",
            code="model_not_found"), Repair.NONE),
    Refusal("unknown model, ollama", 404, {"error": {"message": "model 'llama9' not found"}}, Repair.NONE),
    Refusal("no endpoint", 404, router("No endpoints found matching your data policy.", 404), Repair.NONE),
    Refusal("a rate", 429,
            openai("Rate limit reached for model `llama-3.1-8b-instant` in organization `org_x` on tokens per minute "
                   "(TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s.",
                   code="rate_limit_exceeded"), Repair.NONE),
    Refusal("a key", 401, openai("Incorrect API key provided: sk-x. tools are not supported", code="invalid_api_key"),
            Repair.NONE),
    Refusal("a permission", 403, openai("Key limit exceeded. Streaming is not supported."), Repair.NONE),
    Refusal("overloaded", 503, openai("tool calling is not supported while the model is loading"), Repair.NONE),
    Refusal("a crash", 500, openai("Internal Server Error", kind="server_error"), Repair.NONE),
    Refusal("a bad gateway", 502, openai("max_tokens: upstream connect error"), Repair.NONE),
    Refusal("a page", 500, None, Repair.NONE),
    Refusal("nothing said", 400, router("Provider returned error", 400), Repair.NONE),
]  # fmt: skip
