/**
 * Something a run made to be kept: a report, a screenshot, the whole of a long tool output. Immutable.
 */
import { Schema } from "effect"
import { ArtifactId, RunId } from "../identity/Ids.ts"

export const Artifact = Schema.Struct({
  id: ArtifactId,
  runId: RunId,
  name: Schema.String,
  mediaType: Schema.String,
  /** Bytes of the content. */
  size: Schema.Int,
  /** Of the content, in hexadecimal. */
  sha256: Schema.String,
  createdAt: Schema.String
}).annotate({ identifier: "Artifact" })
export type Artifact = typeof Artifact.Type
