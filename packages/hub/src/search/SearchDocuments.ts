/** Writes of search documents. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"
import { foldText, searchableText } from "./FoldedText.ts"
import { gramsOfText } from "./Grams.ts"
import { documentIdOf } from "./SearchDocumentRow.ts"
import { type SearchSource, searchSources, type SearchText } from "./SearchSource.ts"

const existingProjectRows = storedRows("projects", Schema.Struct({ id: Schema.String }))

const documentOf = ({ at, kind, messageId, projectId, runId, sessionId, text: original }: SearchText) => {
  const text = searchableText(original)
  const folded = foldText(text)
  return {
    id: documentIdOf(kind, { messageId, runId, sessionId }),
    kind,
    project_id: projectId,
    session_id: sessionId,
    message_id: messageId,
    run_id: runId,
    at,
    text,
    folded,
    grams: gramsOfText(folded)
  }
}

/** Keeps the projects until the transaction ends, in one order, and returns those that exist. A deletion waits, so the two never deadlock. */
const lockProjects = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  projectIds: ReadonlyArray<ProjectId>
) {
  const rows = yield* existingProjectRows.all(
    sql`SELECT id FROM projects WHERE id = ANY(${projectIds}::text[]) ORDER BY id FOR KEY SHARE`
  )
  return new Set<string>(rows.map(({ id }) => id))
})

/** Makes the documents of the rows equal to the rows. Part of the transaction of the caller. */
export const updateDocuments = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  source: SearchSource,
  ids: ReadonlyArray<string>
) {
  const { kinds, read } = searchSources[source]
  const texts = yield* read(sql, ids)
  const projects = yield* lockProjects(sql, [...new Set(texts.map(({ projectId }) => projectId))])
  const written = new Set<string>()
  for (const text of texts) {
    if (!projects.has(text.projectId)) continue
    const document = documentOf(text)
    written.add(document.id)
    yield* sql`
      INSERT INTO search_documents ${sql.insert(document)} ON CONFLICT (id) DO UPDATE
      SET at = excluded.at, text = excluded.text, folded = excluded.folded, grams = excluded.grams
      WHERE search_documents.text <> excluded.text OR search_documents.at <> excluded.at`
    // A long text takes some milliseconds.
    yield* Effect.yieldNow
  }
  const outdated = kinds
    .flatMap((kind) => ids.map((runId) => documentIdOf(kind, { runId })))
    .filter((id) => !written.has(id))
  yield* sql`DELETE FROM search_documents WHERE id = ANY(${outdated}::text[])`
})
