/** `corral artifacts`: lists the artifacts of a run and saves them as files. */
import type { Artifact } from "@corral/domain/run/Artifact"
import type { ArtifactId, RunId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect, Option, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { createHash } from "node:crypto"
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs"
import { basename, dirname, resolve } from "node:path"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { jsonLines, jsonObject, runServerFlags } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { artifactArgument, resolveArtifactId, resolveRunId, runArgument } from "../run/IdArguments.ts"
import type { RunServer } from "../run/RunServer.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { formatItem, makePaint } from "../terminal/Rows.ts"
import { withProgress } from "../terminal/Progress.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const list = Command.make(
  "list",
  { ...runServerFlags, json: jsonLines, run: runArgument },
  Effect.fn(function* ({ json, run, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const items = yield* server.artifacts(yield* resolveRunId(server)(run))
    for (const artifact of items) {
      const { id, mediaType, name, size } = artifact
      const parts = [String(size).padStart(10), escapeLine(mediaType), escapeLine(name)].map((text) => ({
        text
      }))
      host.write(json ? `${JSON.stringify(artifact)}\n` : formatItem(id, parts, makePaint(false), host.width))
    }
    if (!json && items.length === 0) host.write("The run has no artifacts.\n")
  })
).pipe(Command.withDescription("List the artifacts of a run"))

/** File name that stays in the folder, regardless of the name that the run chose. */
const fileNameOf = ({ id, name }: Artifact): string => {
  const plain = basename(name.replaceAll("\\", "/")).replaceAll(/[\p{Cc}\p{Cf}]/gu, "_")
  return plain === "" || plain === "." || plain === ".." ? id : plain
}

/** Atomic write: the content goes to a temporary file, is checked against its hash, and is renamed. */
const save = (content: Stream.Stream<Uint8Array, CommandFailed>, artifact: Artifact, path: string) => {
  const temporary = `${path}.${process.pid}.part`
  const unwritable = () => refused(`Can't write ${path}.`)
  return Effect.gen(function* () {
    const hash = createHash("sha256")
    const file = yield* Effect.acquireRelease(
      Effect.try({
        try: () => {
          makeFolder(dirname(path), 0o777)
          return openSync(temporary, "wx", 0o600)
        },
        catch: unwritable
      }),
      (open) => Effect.sync(() => closeSync(open))
    )
    yield* Stream.runForEach(content, (bytes) =>
      Effect.try({
        try: () => {
          hash.update(bytes)
          for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
        },
        catch: unwritable
      })
    )
    if (hash.digest("hex") !== artifact.sha256)
      return yield* refused("The downloaded content doesn't match the artifact. Try again.")
    yield* Effect.try({ try: () => renameSync(temporary, path), catch: unwritable })
  }).pipe(
    Effect.scoped,
    Effect.onError(() => Effect.sync(() => rmSync(temporary, { force: true })))
  )
}

const findArtifact = Effect.fnUntraced(function* (server: RunServer, run: RunId, id: ArtifactId) {
  const artifact = (yield* server.artifacts(run)).find((each) => each.id === id)
  return (
    artifact ??
    (yield* refused(
      `Run ${run} has no artifact ${id}. \`corral artifacts list ${run}\` lists its artifacts.`
    ))
  )
})

const saveOne = Command.make(
  "save",
  {
    ...runServerFlags,
    output: Flag.String("output").pipe(
      Flag.withAlias("o"),
      Flag.withDescription(
        "File to write. Without it, the name of the artifact in this folder. Replaces an existing file"
      ),
      Flag.optional
    ),
    json: jsonObject,
    run: runArgument,
    artifact: artifactArgument
  },
  Effect.fn(function* ({ artifact: artifactStart, json, output, run: runStart, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const run = yield* resolveRunId(server)(runStart)
    const id = yield* resolveArtifactId(server, run)(artifactStart)
    const artifact = yield* findArtifact(server, run, id)
    const path = resolve(Option.getOrElse(output, () => fileNameOf(artifact)))
    const content = yield* server.content(run, id)
    yield* save(content, artifact, path).pipe(withProgress(`saving ${escapeLine(artifact.name)}`))
    host.write(json ? `${JSON.stringify({ ...artifact, path })}\n` : `${path} (${artifact.size} bytes)\n`)
  })
).pipe(Command.withDescription("Save an artifact as a file"))

export const artifactsCommand = Command.make("artifacts").pipe(
  Command.withDescription("Artifacts of runs"),
  Command.withSubcommands([list, saveOne])
)
