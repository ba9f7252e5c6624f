/**
 * Rows of artifacts: their descriptions without the content. Written in the transaction of the events that name them.
 */
import type { Artifact } from "@corral/domain/run/Artifact"
import type { ArtifactId, RunId } from "@corral/domain/identity/Ids"
import type { Store, Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"

interface Row {
  readonly artifact: string
}

export const insertArtifact = (artifact: Artifact): Write => [
  "INSERT INTO artifacts (id, run_id, sha256, artifact) VALUES (?, ?, ?, ?)",
  artifact.id,
  artifact.runId,
  artifact.sha256,
  JSON.stringify(artifact)
]

export const deleteArtifactsOf = (runId: RunId): Write => ["DELETE FROM artifacts WHERE run_id = ?", runId]

// This program wrote the row from a value of type Artifact.
const parse = (row: Row): Artifact => parseStored<Artifact>(row.artifact, "artifact")

export const findArtifact = (store: Store["Service"], id: ArtifactId): Artifact | undefined => {
  const row = store.get<Row>("SELECT artifact FROM artifacts WHERE id = ?", id)
  return row === undefined ? undefined : parse(row)
}

/** Up to `limit` artifacts after `after`, oldest first. */
export const pageOfArtifacts = (
  store: Store["Service"],
  runId: RunId,
  after: string | undefined,
  limit: number
): ReadonlyArray<Artifact> =>
  store
    .all<Row>(
      "SELECT artifact FROM artifacts WHERE run_id = ? AND id > ? ORDER BY id LIMIT ?",
      runId,
      after ?? "",
      limit
    )
    .map(parse)

/** The distinct hashes of a run's contents. */
export const contentsOf = (store: Store["Service"], runId: RunId): ReadonlyArray<string> =>
  store
    .all<{ readonly sha256: string }>("SELECT DISTINCT sha256 FROM artifacts WHERE run_id = ?", runId)
    .map(({ sha256 }) => sha256)

/** Whether any artifact of any run has this content. */
export const isNamed = (store: Store["Service"], sha256: string): boolean =>
  store.get("SELECT 1 FROM artifacts WHERE sha256 = ? LIMIT 1", sha256) !== undefined
