/**
 * Artifacts: immutable files that a run produced, such as a report, a screenshot or the whole output of a tool.
 */
import { Schema } from "effect"
import { ArtifactId, RunId } from "../identity/Ids.ts"

/** An artifact without its content. */
export const Artifact = Schema.Struct({
  id: ArtifactId,
  runId: RunId,
  name: Schema.String,
  mediaType: Schema.String,
  /** Size of the content in bytes. */
  size: Schema.Int,
  /** SHA-256 of the content in hexadecimal. */
  sha256: Schema.String,
  createdAt: Schema.String
}).annotate({ identifier: "Artifact" })
export type Artifact = typeof Artifact.Type
