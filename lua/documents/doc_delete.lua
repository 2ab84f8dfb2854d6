-- doc_delete: deletes a document and everything stored for it, and cancels its job.
-- Stops this race: an indexer is working on the document. What it has stored so far is deleted here, and its next verb
--   replies `lost`, so it can store nothing more.
-- KEYS: doc:<doc>, job:<job>, upload:<doc>, text:<doc>:<n>, pack:<doc>:<generation>, docs:<space>, space:<space>,
--   shas:<space>, paths:<space>, packs:<space>, recent_jobs:<space>, jobs, trash.
-- Wakes: watching nodes, if it was being indexed.
-- Bound: one document.
-- Lane: slow.  Home: space.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: the second time it is missing.
-- Arguments:
--   space  name
--   doc    name
-- Replies: ok | missing | replay
local removal = require('documents/removal')

local function verb(turn, a)
    --- arguments
    return removal.remove(turn, space, doc) and 'ok' or 'missing'
end

return {doc_delete = verb}
