/** Confinement of a git that reads the repository of a run, by the means of this machine. */
import { Effect, Layer } from "effect"
import { GitIsolation } from "../workspace/GitIsolation.ts"
import { Confinement } from "./Confinement.ts"
import { objectMounts } from "./RepositoryMounts.ts"

export const isolatedGitLayer = Layer.effect(
  GitIsolation,
  Effect.map(
    Confinement,
    ({ isolate }): GitIsolation =>
      (command, { objects, repository }) =>
        isolate(command, [...objectMounts(objects), { kind: "write", path: repository }])
  )
)
