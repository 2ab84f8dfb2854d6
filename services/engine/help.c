/* SPDX-License-Identifier: MIT
 * help.c - `parley engine` as its users see it: the options and the help around them. */
#include "services/commands/commands.h"
#include "services/engine/engine_run.h"

#include "shared/auth/signed.h"
#include "shared/base/log_options.h"
#include "shared/embed/embed_options.h"

static const struct config_group pull_options = {
    "Nodes",
    (const struct config_option[]){
        {.name = "url",
         .kind = CONFIG_TEXT,
         .metavar = "URL[,URL...]",
         .help =
             "The nodes to pull from, at most 16: http://HOST[:PORT] or https://HOST[:PORT]. Any "
             "node "
             "of a cluster serves any claim; slots spread over them and move on when one fails. "
             "Required."},
        {.name = "start-seconds",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "10",
         .min = 0,
         .max = 600,
         .help =
             "How long the nodes and the model's server may take to come up when the engine "
             "starts. "
             "Make it longer where all of them start together. What answers and is wrong ends the "
             "start at once."},
        {.name = "slots",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "4",
         .min = 1,
         .max = 256,
         .help =
             "How many claims are worked on at the same time. Set it to what the model's server "
             "can do in parallel."},
        {.name = "wait",
         .kind = CONFIG_NUMBER,
         .metavar = "SECONDS",
         .fallback = "100",
         .min = 1,
         .max = 120,
         .help =
             "How long a node may hold a request for work before it says that there is none. Make "
             "it shorter than what proxies on the way cut."},
        {.name = "engine-id",
         .kind = CONFIG_TEXT,
         .metavar = "NAME",
         .help =
             "The name of this engine for the nodes, 1 to 60 letters, digits, '-', '_' and '.'. "
             "Two engines of one account must not share a name: the newer one's requests end the "
             "older "
             "one's. Unset: the host's name and the process id."},
        {.name = "models",
         .kind = CONFIG_TEXT,
         .metavar = "A,B",
         .help =
             "Takes only queries that ask for one of these models, or for none; a query that names "
             "one gets it. At most 256 bytes. Unset: takes every query, and --model answers."},
        {0}}};

static const struct config_group model_options = {
    "Model",
    (const struct config_option[]){
        {.name = "llm",
         .kind = CONFIG_TEXT,
         .metavar = "URL",
         .help =
             "The base URL of a server with OpenAI's /chat/completions, such as "
             "http://127.0.0.1:11434/v1 (Ollama, llama.cpp, vLLM and others). Unset: the built-in "
             "extractive model answers."},
        {.name = "llm-url",
         .kind = CONFIG_TEXT,
         .metavar = "URL",
         .help =
             "The same as --llm, which goes first. It is here for the name of its variable, which "
             "tools that start an engine set."},
        {.name = "model",
         .kind = CONFIG_TEXT,
         .metavar = "NAME",
         .help = "The model to ask the server for. Required with --llm."},
        {.name = "llm-key-file",
         .kind = CONFIG_TEXT,
         .metavar = "FILE",
         .help = "The file that holds the key of the model's server, sent as a bearer token; to "
                 "--embeddings too, unless that has a key of its own."},
        {.name = "llm-timeout",
         .kind = CONFIG_NUMBER,
         .metavar = "SECONDS",
         .fallback = "300",
         .min = 1,
         .max = 86400,
         .help =
             "How long the model's server may send nothing before the query is given back. A long "
             "prompt on a slow machine takes minutes to its first word."},
        {0}}};

static const struct config_group corpus_options = {
    "Documents",
    (const struct config_option[]){
        {.name = "corpus",
         .kind = CONFIG_TEXT,
         .metavar = "DIR",
         .help =
             "A folder of documents (TXT, MD, HTML, and PDF if pdftotext is installed), with its "
             "subfolders. It serves lookups, and the passages that fit a question best ground the "
             "answer. Hidden files and linked folders are skipped."},
        {.name = "index",
         .kind = CONFIG_TEXT,
         .metavar = "FILE",
         .help =
             "Where the index of --corpus is kept between starts. It is a cache: it may be deleted "
             "at any time. Unset: .parley-index in that folder."},
        {.name = "top-k",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "5",
         .min = 1,
         .max = 20,
         .help = "How many passages ground an answer."},
        {.name = "embeddings-model",
         .kind = CONFIG_TEXT,
         .metavar = "NAME",
         .help =
             "The embedding model, where --embeddings is nothing but the base URL of a server with "
             "OpenAI's /embeddings. Another model rebuilds the index."},
        {0}}};

const struct command engine_command = {
    .name = "engine",
    .summary = "run the reference inference engine: pulls questions, pushes answers",
    .about =
        "usage: parley engine --url URL[,URL...] --user NAME --secret-file FILE [FLAGS]\n"
        "\n"
        "Runs the reference inference engine. It dials out to the nodes, pulls questions by long\n"
        "poll, answers them and pushes the answers back; nothing ever connects to it, so it works\n"
        "behind NAT and firewalls that let HTTP out. NAME is an account of role engine.\n"
        "\n"
        "How it answers\n"
        "  Without --llm the built-in extractive model answers: sentences copied from the best\n"
        "  passages of --corpus, each with the mark [N] of its source, and a list of the sources.\n"
        "  It never invents; where nothing fits it says so. Prompts of workflows, which ask for a\n"
        "  JSON object with a decision, get one from a few fixed rules.\n"
        "  With --llm a language model answers, streaming: people see its words while it writes.\n"
        "  What it thinks is kept apart. With --corpus the best passages go with the question, "
        "and\n"
        "  marks that name no passage are taken out of the answer.\n"
        "  What users recommended counts as a document, passages that they flagged as off topic "
        "are\n"
        "  left out; both are fetched at the start and every 30 seconds.\n"
        "\n"
        "How it treats claims\n"
        "  A claim is renewed at a third of its lease, and by every part of an answer. Work stops\n"
        "  at once when the query is cancelled or the lease is lost. While the model's server is\n"
        "  busy or away (429, 503, no connection), the engine rests as long as that server says,\n"
        "  reports it to the nodes and takes nothing; no attempt of a query is used up. A query "
        "that\n"
        "  the server refuses for good (400, 413, 422) is failed with the reason. An answer is\n"
        "  offered until a node takes or refuses it.\n"
        "\n"
        "What it checks\n"
        "  At its start it asks each node whether it takes the account, and the model's server "
        "for\n"
        "  its models. What is wrong ends the start with one line that names the flag to change.\n"
        "  With --check-config it asks once, says what would run, and exits.\n"
        "\n"
        "How it reconnects\n"
        "  Indefinitely: after a failure it waits a random time up to a bound that doubles from "
        "0.2 "
        "to\n"
        "  15 seconds, or as long as a node asks (Retry-After). With several URLs it goes on with\n"
        "  another one meanwhile. Environment proxies (https_proxy, no_proxy) are used.\n"
        "\n"
        "When everything is ready it prints one line on standard output:\n"
        "  parley engine: pulling from URL as NAME\n"
        "\n",
    .more =
        "\n"
        "Signals\n"
        "  SIGTERM, SIGINT  takes nothing new, gives claims back, and exits within 10 seconds; a\n"
        "                   second one exits at once.\n"
        "  SIGHUP           reads --corpus again, serving meanwhile.\n"
        "\n"
        "Exit codes\n"
        "  0  stopped by a signal    1  could not start    2  a wrong flag or value\n"
        "\n"
        "Examples\n"
        "  parley engine --url http://127.0.0.1:8080 --user Inference_1 --secret-file "
        "engine.secret \\\n"
        "      --corpus handbook/\n"
        "      answers from a folder of documents, with no model at all.\n"
        "  parley engine --url https://a.example,https://b.example --user Inference_1 \\\n"
        "      --secret-file engine.secret --llm http://127.0.0.1:11434/v1 --model llama3.2 "
        "--slots 2\n"
        "      answers with Ollama on this machine, for two nodes.\n"
        "  PARLEY_LLM_URL=http://127.0.0.1:8000/v1 PARLEY_MODEL=qwen3 parley engine \\\n"
        "      --config engine.yaml\n"
        "      takes the rest from a file with lines like `user: Inference_1`.\n",
    .groups = (const struct config_group *const[]){&pull_options, &signed_options, &model_options,
                                                   &corpus_options, &embed_options, &log_options,
                                                   &config_check_options, NULL},
    .run = engine_run,
};
