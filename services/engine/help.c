/* SPDX-License-Identifier: MIT
 * help.c - `parley engine` as its users see it: the options and the help around them. */
#include "services/commands/commands.h"
#include "services/engine/engine_run.h"

#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/log_options.h"
#include "shared/base/trust.h"
#include "shared/embed/embed_options.h"

static const struct config_group pull_options = {
    "Nodes",
    (const struct config_option[]){
        OPTION_TEXT(
            "url", "URL[,URL...]", NULL,
            "The nodes to pull from, at most 16: http://HOST[:PORT] or https://HOST[:PORT]. "
            "Any node of a cluster serves any claim; slots are spread over the nodes and fail "
            "over between them. Required."),
        OPTION_NUMBER(
            "start-seconds", "N", "10", 0, 600,
            "Seconds that the engine waits at its start for the nodes and the model server to "
            "come up. Raise it if all of them start together. A wrong answer from any of them "
            "ends the start immediately."),
        OPTION_NUMBER("slots", "N", "4", 1, 256,
                      "Number of claims that are worked on concurrently. Set it to the number of "
                      "requests that the model server handles in parallel."),
        OPTION_NUMBER("wait", "SECONDS", "100", 1, 120,
                      "Seconds that a node holds a request for work before it returns an empty "
                      "response. Keep it below the idle timeout of any proxy in between."),
        OPTION_TEXT("transport", "HOW", "auto",
                    "How claims and answers travel. socket: over one WebSocket, each piece of text "
                    "as soon as it is there. routes: a request for each. auto: the socket, and the "
                    "routes where a proxy lets no WebSocket through."),
        OPTION_TEXT(
            "engine-id", "NAME", NULL,
            "The engine name that is sent to the nodes: 1 to 60 letters, digits, '-', '_' and "
            "'.'. Two engines of one account must not share a name, because a newer request "
            "ends an older one with the same name. Unset: the host name and the process id."),
        OPTION_TEXT("models", "A,B", NULL,
                    "Comma-separated models to serve: takes only queries that name one of them, "
                    "answered by that model, or that name none. At most 256 bytes. Unset: those of "
                    "--model, or, with --apis none, every query, answered by --model."),
        {0}}};

static const struct config_group model_options = {
    "Model",
    (const struct config_option[]){
        OPTION_TEXT("llm", "URL", NULL,
                    "Base URL of an OpenAI-compatible server with /chat/completions, such as "
                    "http://127.0.0.1:11434/v1 (Ollama, llama.cpp, vLLM and others). Unset: the "
                    "built-in extractive model answers."),
        OPTION_TEXT(
            "llm-url", "URL", NULL,
            "Same as --llm, which takes precedence. It exists for its environment variable, "
            "which tools that start an engine set."),
        OPTION_TEXT("model", "NAME[,NAME...]", NULL,
                    "The models to request from the server; the first answers what names none. "
                    "Unset: those that the server lists, as far as they fit into 256 bytes."),
        OPTION_TEXT("apis", "LIST", "auto",
                    "What is served to clients of OpenAI's and Anthropic's interfaces (/v1): chat, "
                    "completions, embeddings, messages, as a comma list. Their requests are passed "
                    "on to the server whole. messages: the server has Anthropic's /messages; "
                    "without it, such requests come as chats. auto: what the server should have: "
                    "chat and completions with --llm, "
                    "embeddings with --embeddings-url; the built-in model serves chat. none: "
                    "nothing, and queries for any model are taken unless --models names some."),
        OPTION_TEXT("embeddings-url", "URL", NULL,
                    "Base URL of an OpenAI-compatible server with /embeddings, for clients that "
                    "request embeddings of a model in --model. It may be that of --llm."),
        OPTION_BOOL("continues", "0",
                    "The server continues a last message of role assistant that is unfinished, as "
                    "vLLM, SGLang and llama.cpp do. Then this engine continues texts whose engine "
                    "was lost, instead of their failing."),
        OPTION_TEXT(
            "llm-key-file", "FILE", NULL,
            "A file that contains the API key of the model server, sent as a bearer token. It "
            "is also used for --embeddings and --embeddings-url unless --embeddings-key-file is "
            "set."),
        OPTION_NUMBER(
            "llm-timeout", "SECONDS", "300", 1, 86400,
            "Seconds without data from the model server after which the query is given back. "
            "Raise it on slow machines: a long prompt can take minutes before the first word."),
        {0}}};

static const struct config_group corpus_options = {
    "Documents",
    (const struct config_option[]){
        OPTION_TEXT(
            "corpus", "DIR", NULL,
            "A folder of documents (TXT, MD, HTML, and PDF if pdftotext is installed), including "
            "subfolders. It serves lookups, and the passages that best match a question are given "
            "to the model. Hidden files and symbolic links to folders are skipped."),
        OPTION_TEXT("index", "FILE", NULL,
                    "Where the index of --corpus is kept between starts. It is a cache and may be "
                    "deleted at any time. Unset: in parley/ in the user's cache folder "
                    "($XDG_CACHE_HOME, or ~/.cache). Empty: it is not kept."),
        OPTION_NUMBER("top-k", "N", "5", 1, 20,
                      "Number of corpus passages that are given to the model with a question."),
        OPTION_TEXT("embeddings-model", "NAME", NULL,
                    "The embedding model, if --embeddings is only the base URL of an "
                    "OpenAI-compatible server. Changing the model rebuilds the index."),
        {0}}};

const struct command engine_command = {
    .name = "engine",
    .is_flags_only = true,
    .summary = "run the reference inference engine, which pulls questions and pushes answers",
    .about =
        "usage: parley engine --url URL[,URL...] --user NAME --secret-file FILE [FLAGS]\n"
        "\n"
        "Runs the reference inference engine. It connects to the nodes, pulls questions by long\n"
        "polling, answers them and sends the answers back. Nothing connects to it, so it works\n"
        "behind NAT and firewalls that allow outgoing HTTP. NAME is an account of role engine.\n"
        "\n"
        "How it answers\n"
        "  Without --llm, the built-in extractive model answers with sentences copied from the "
        "best\n"
        "  passages of --corpus, each with the mark [N] of its source, and a list of the sources.\n"
        "  It never invents text; if no passage fits, it says so. Workflow prompts, which ask for "
        "a\n"
        "  JSON object with a decision, are answered by a few fixed rules.\n"
        "  With --llm, a language model answers and its text is streamed to readers. Its "
        "reasoning\n"
        "  is kept separate. With --corpus, the best passages are sent with the question, and "
        "marks\n"
        "  that name no passage are removed from the answer.\n"
        "  Users' recommendations are added to the passages as notes with a source of their own;\n"
        "  passages that users flagged as off topic are left out. Both are fetched at the start\n"
        "  and every 5 seconds.\n"
        "\n"
        "How it treats claims\n"
        "  A claim is renewed after a third of its lease and by every partial answer. Work stops\n"
        "  immediately when the query is cancelled or the lease is lost. If the model server is "
        "busy\n"
        "  or unreachable (429, 503, no connection), the engine rests for as long as that server\n"
        "  asks, reports this to the nodes and takes no queries. This uses up no attempts. A "
        "query\n"
        "  that the server rejects for good (400, 413, 422) fails with the reason. The engine "
        "keeps\n"
        "  sending an answer until a node accepts or refuses it.\n"
        "\n"
        "What it checks\n"
        "  At its start the engine checks that each node accepts the account and that the model\n"
        "  server has the models. If a check fails, it exits with one line that names the flag to\n"
        "  change. With --check-config it checks once, prints what would run, and exits.\n"
        "\n"
        "How it reconnects\n"
        "  The engine reconnects indefinitely. After a failure it waits a random time up to a "
        "limit\n"
        "  that doubles from 0.2 to 15 seconds, or as long as a node asks for (Retry-After). With\n"
        "  several URLs it uses another one in the meantime. It honours the environment variables\n"
        "  https_proxy and no_proxy.\n"
        "\n"
        "When it is ready it prints one line on standard output:\n"
        "  parley engine: pulling from URL as NAME\n"
        "\n",
    .more = "\n"
            "Signals\n"
            "  SIGTERM, SIGINT  takes no new claims, gives its claims back and exits within 10 "
            "seconds;\n"
            "                   a second signal makes it exit immediately.\n"
            "  SIGHUP           reads --corpus again while it keeps serving.\n"
            "\n"
            "Exit codes\n"
            "  0  stopped by a signal    1  could not start    2  a wrong flag or value\n"
            "\n"
            "Examples\n"
            "  parley engine --url http://127.0.0.1:8080 --user Inference_1 --secret-file "
            "engine.secret \\\n"
            "      --corpus handbook/\n"
            "      answers from a folder of documents, without a model.\n"
            "  parley engine --url https://a.example,https://b.example --user Inference_1 \\\n"
            "      --secret-file engine.secret --llm http://127.0.0.1:11434/v1 --model llama3.2 "
            "--slots 2\n"
            "      answers with Ollama on this machine, for two nodes.\n"
            "  PARLEY_LLM_URL=http://127.0.0.1:8000/v1 PARLEY_MODEL=qwen3 parley engine \\\n"
            "      --config engine.yaml\n"
            "      reads the other settings from a file with lines such as `user: Inference_1`.\n",
    .groups = (const struct config_group *const[]){&pull_options, &signed_options,
                                                   &login_file_options, &model_options,
                                                   &corpus_options, &embed_options, &trust_options,
                                                   &log_options, &config_check_options, NULL},
    .run = engine_run,
};
