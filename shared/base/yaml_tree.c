/* SPDX-License-Identifier: MIT
 * yaml_tree.c - see yaml_tree.h. */
#include "shared/base/yaml_tree.h"

#include <stdlib.h>

struct str yaml_tree_scalar(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE)
        return (struct str){NULL, 0};
    return (struct str){(const char *)node->data.scalar.value, node->data.scalar.length};
}

bool yaml_tree_is_null(const yaml_node_t *node)
{
    struct str s = yaml_tree_scalar(node);
    return s.at != NULL && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (s.n == 0 || str_eq(s, STR("~")) || str_eq_nocase(s, STR("null")));
}

static void start_parser(yaml_parser_t *parser, struct str text)
{
    if (!yaml_parser_initialize(parser))
        abort();
    yaml_parser_set_input_string(parser, (const yaml_char_t *)(text.n == 0 ? "" : text.at), text.n);
}

/* libyaml's own texts are constants: they repeat nothing of the file. */
static void note_error(const yaml_parser_t *parser, struct str text,
                       struct yaml_tree_fault *ret_fault)
{
    if (parser->error == YAML_MEMORY_ERROR)
        abort();
    size_t line = parser->problem_mark.line + 1;
    if (parser->error == YAML_READER_ERROR) {
        /* Bad bytes are found before they have a mark, only an offset. */
        line = 1;
        for (size_t i = 0; i < text.n && i < parser->problem_offset; i++)
            line += text.at[i] == '\n';
    }
    *ret_fault = (struct yaml_tree_fault){
        line, parser->problem == NULL ? "the file is not valid YAML" : parser->problem,
        parser->context, parser->context_mark.line + 1};
}

static bool has_name(const yaml_event_t *event)
{
    return (event->type == YAML_SCALAR_EVENT &&
            (event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL)) ||
           (event->type == YAML_SEQUENCE_START_EVENT &&
            (event->data.sequence_start.anchor != NULL ||
             event->data.sequence_start.tag != NULL)) ||
           (event->type == YAML_MAPPING_START_EVENT &&
            (event->data.mapping_start.anchor != NULL || event->data.mapping_start.tag != NULL)) ||
           event->type == YAML_ALIAS_EVENT;
}

/* Refuses what the tree should not be made of. Deep nesting: libyaml takes quadratic time for it,
 * minutes for 1 MiB of '['. A second document: it would be read by nobody. */
static bool check_shape(struct str text, const struct yaml_tree_limits *limits,
                        struct yaml_tree_fault *ret_fault)
{
    yaml_parser_t parser;
    yaml_event_t event;
    yaml_event_type_t type;
    unsigned depth = 0, document_n = 0;
    const char *reason = NULL;
    start_parser(&parser, text);
    do {
        if (!yaml_parser_parse(&parser, &event)) {
            note_error(&parser, text, ret_fault);
            yaml_parser_delete(&parser);
            return false;
        }
        type = event.type;
        size_t line = event.start_mark.line + 1;
        document_n += type == YAML_DOCUMENT_START_EVENT;
        depth += type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT;
        depth -= type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT;
        if (depth > limits->depth_max)
            reason = "the nesting is too deep";
        else if (document_n > 1)
            reason = "a second YAML document";
        else if (limits->is_plain && has_name(&event))
            reason = "anchors (&), aliases (*) and tags (!) are not supported: write the value "
                     "itself, in quotes if it begins with such a character";
        yaml_event_delete(&event);
        if (reason != NULL)
            *ret_fault = (struct yaml_tree_fault){.line = line, .reason = reason};
    } while (reason == NULL && type != YAML_STREAM_END_EVENT);
    yaml_parser_delete(&parser);
    return reason == NULL;
}

bool yaml_tree_read(struct str text, const struct yaml_tree_limits *limits,
                    struct yaml_tree_fault *ret_fault, yaml_document_t *ret_document)
{
    yaml_parser_t parser;
    if (!check_shape(text, limits, ret_fault))
        return false;
    start_parser(&parser, text);
    bool ok = yaml_parser_load(&parser, ret_document);
    if (!ok)
        note_error(&parser, text, ret_fault);
    yaml_parser_delete(&parser);
    return ok;
}
