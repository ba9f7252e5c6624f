/** Decisions about random trees in a folder, at the level of files: without captures, so that there can be many. */
import type { ChangeDecisionId, ChangeSetId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import { mkdirSync, readlinkSync } from "node:fs"
import { join } from "node:path"
import { fileIdOf } from "../../src/change/ChangeIds.ts"
import type { CommitFailure, DecisionCommit, Overtaken } from "../../src/change/DecisionCommit.ts"
import { type PathChange, planSteps } from "../../src/change/DecisionPlan.ts"
import { type FileOperations, nodeOperations } from "../../src/change/FolderFiles.ts"
import { storeContent } from "../../src/change/TreeContents.ts"
import type { Store, Write } from "../../src/store/Store.ts"
import type { ShadowRepository } from "../../src/workspace/ShadowRepository.ts"
import { newRunId } from "../Samples.ts"
import { writeTree } from "./ChangePlace.ts"
import type { Tree } from "./RandomTrees.ts"

/** The steps from one tree to the other. */
export const changesOf = (shadow: ShadowRepository, before: Tree, after: Tree) =>
  Effect.forEach([...new Set([...before.keys(), ...after.keys()])].toSorted(), (path) =>
    Effect.gen(function* () {
      const entry = Effect.fnUntraced(function* (tree: Tree) {
        const file = tree.get(path)
        return file && { mode: file.mode, id: yield* storeContent(shadow, file.content) }
      })
      const bytes = Buffer.from(path, "latin1")
      return {
        fileId: fileIdOf(bytes),
        path: bytes,
        before: yield* entry(before),
        after: yield* entry(after)
      }
    })
  ).pipe(
    Effect.map((changes): ReadonlyArray<PathChange> =>
      changes.filter(({ after, before }) => before?.id !== after?.id || before?.mode !== after?.mode)
    )
  )

/** A folder with a tree. */
export const folderWith = (parent: string, name: string, tree: Tree): string => {
  const folder = join(parent, name)
  mkdirSync(folder)
  writeTree(folder, tree)
  return folder
}

export type Decided = "done" | "conflict"

/** Plans and carries out changes, as a decision does. Returns the versions that the paths had and have. */
export const decide = Effect.fnUntraced(function* (
  commit: DecisionCommit,
  shadow: ShadowRepository,
  folder: string,
  changes: ReadonlyArray<PathChange>
): Effect.fn.Return<{ end: Decided; paths: ReadonlyArray<PathChange> }, CommitFailure> {
  const id = mint<ChangeDecisionId>("chd", 1_000)
  const target = {
    id,
    setId: "chs_00000000000000000000000000" as ChangeSetId,
    runId: newRunId(),
    place: "workspace" as const,
    root: folder,
    folder,
    shadow
  }
  for (let attempt = 0; attempt < 5; attempt++) {
    const { conflicts, paths, steps } = yield* planSteps(shadow, folder, changes)
    if (conflicts.length > 0) return { end: "conflict", paths }
    const record = Effect.succeed({ rows: [recordOf(id)], result: "done" as const })
    const done: "done" | Overtaken = yield* commit.carryOut(target, steps, record)
    if (done === "done") return { end: done, paths }
  }
  return { end: "conflict", paths: [] }
})

const recordOf = (id: string): Write => [
  "INSERT INTO change_decisions (id, set_id, decision, parts) VALUES (?, 'chs', '{}', '{}')",
  id
]

/** One call of the system, or one commit. */
export type RecordedStep =
  | { readonly kind: "file"; readonly name: keyof FileOperations; readonly args: ReadonlyArray<unknown> }
  | { readonly kind: "commit"; readonly writes: ReadonlyArray<Write> }

/** Calls `before` ahead of each call of the system. */
export const steppedOperations = (
  before: (name: keyof FileOperations, args: ReadonlyArray<unknown>) => void
): FileOperations => {
  const step =
    <Args extends ReadonlyArray<unknown>>(name: keyof FileOperations, call: (...args: Args) => void) =>
    (...args: Args): void => {
      before(name, args)
      call(...args)
    }
  const { giveTo, link, makeFolder, remove, removeFolder, rename, sync, write, writeLink } = nodeOperations
  return {
    makeFolder: step("makeFolder", makeFolder),
    removeFolder: step("removeFolder", removeFolder),
    write: step("write", write),
    writeLink: step("writeLink", writeLink),
    giveTo: step("giveTo", giveTo),
    link: step("link", link),
    rename: step("rename", rename),
    remove: step("remove", remove),
    sync: step("sync", sync)
  }
}

/** Calls `before` ahead of each commit. */
export const steppedStore = (store: Store["Service"], before: (writes: ReadonlyArray<Write>) => void) => ({
  ...store,
  commit: (writes: ReadonlyArray<Write>) =>
    Effect.suspend(() => {
      before(writes)
      return store.commit(writes)
    })
})

/** The path that a call of the system means, without the descriptor in it. */
export const plainPath = (path: Buffer): Buffer => {
  const text = path.toString("latin1")
  const [, descriptor, rest = ""] = /^(\/proc\/self\/fd\/\d+)\/([^/]*)$/s.exec(text) ?? []
  if (descriptor === undefined) return path
  const folder = readlinkSync(descriptor, { encoding: "latin1" })
  return Buffer.from(rest === "." ? folder : `${folder}/${rest}`, "latin1")
}
