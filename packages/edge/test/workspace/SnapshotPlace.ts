/** Snapshots of a scratch workspace, as a run uses them. */
import type { RunId } from "@corral/domain/identity/Ids"
import { Context, type Duration, Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { SnapshotLimits, Snapshots } from "../../src/workspace/Snapshots.ts"
import { temporaryFolder } from "../Folder.ts"
import { configLayer, newRunId } from "../Samples.ts"

export const snapshotsIn = (
  home: string,
  {
    path = process.env.PATH ?? "",
    wait = "1 minute"
  }: { readonly path?: string; readonly wait?: Duration.Input } = {}
) =>
  Layer.build(
    Snapshots.layer.pipe(
      Layer.provide(configLayer(home, { environment: { PATH: path } })),
      Layer.provide(Layer.succeed(SnapshotLimits, { wait }))
    )
  ).pipe(Effect.map((context) => Context.get(context, Snapshots)))

export interface SnapshotPlace {
  readonly root: string
  readonly home: string
  readonly snapshots: Snapshots["Service"]
}

/** A workspace with some content. */
export const snapshotPlace = Effect.fnUntraced(function* (prepare: (root: string) => void = () => undefined) {
  const home = yield* temporaryFolder
  const root = yield* temporaryFolder
  prepare(root)
  return { home, root, snapshots: yield* snapshotsIn(home) } satisfies SnapshotPlace
})

/** The changes of a run that does this. */
export const changesBy = Effect.fnUntraced(function* ({ root, snapshots }: SnapshotPlace, work: () => void) {
  const runId: RunId = newRunId()
  yield* snapshots.before(runId, root)
  work()
  yield* snapshots.after(runId, root)
  const { items, leftOut } = yield* snapshots.diff(runId, root, undefined, 10_000)
  return { items, leftOut: leftOut?.paths ?? [], texts: items.map(({ path, status }) => `${status} ${path}`) }
})

export const put = (root: string, path: string, content: string | Buffer): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}

export const makePipe = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  execFileSync("mkfifo", [path])
}
