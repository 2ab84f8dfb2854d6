-- doc_reindex: a new job for a document, from its stored text: after a change of the embedding model, or when
-- indexing it failed. It stays searchable as it is until the job is done.
-- KEYS: doc:<doc>, job:<job> hashes, upload:<doc> string, jobs stream.
-- Wakes: whoever reads the stream.
-- Bound: one document.
-- Lane: add.  Home: space.  Nonce: yes.  Full: refused.
-- Repeatable: yes, while the job is not done.
-- Arguments:
--   space  name
--   doc    name
--   job    name      a new id
-- Replies: ok/job (the unfinished one, if there is one) | missing | gone (neither text nor bytes are there: upload it
--   again) | replay
verbs.doc_reindex = function(a)
    --- arguments
    local d = document_of(space, doc)
    if not d then return 'missing' end
    if job_of(d.job).is_open then return 'ok\n' .. d.job end
    if d.text == '' then return 'gone' end
    retire_job(d.job, '')
    call('HSET', d.key, 'status', 'QUEUED', 'updated', now_text, 'job', job)
    start_job(space, doc, job, 'CHUNK', true)
    return 'ok\n' .. job
end
