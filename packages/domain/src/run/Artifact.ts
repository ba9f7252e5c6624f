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

/** Artifacts that tools and programs may publish in one run. */
export const MAX_PUBLISHED = 100

/** Body of POST /v1/runs/{id}/artifacts. */
export const PublishArtifact = Schema.Struct({
  /** A file of the run's folder, relative to it. */
  path: Schema.NonEmptyString.check(Schema.isMaxLength(4_096)),
  /** By default the name of the file. */
  name: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(255))),
  /** By default from the end of the name. */
  mediaType: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxLength(255)))
}).annotate({ identifier: "PublishArtifact" })
export type PublishArtifact = typeof PublishArtifact.Type
