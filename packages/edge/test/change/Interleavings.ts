/**
 * A person who edits files while a decision changes them: in place, and by replacing a file, as editors do. Each edit adds a line that is found
 * nowhere else. Also undo of decisions.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DecisionCommit } from "../../src/change/DecisionCommit.ts"
import { type PathChange, turned } from "../../src/change/DecisionPlan.ts"
import { nodeOperations } from "../../src/change/FolderFiles.ts"
import { Store } from "../../src/store/Store.ts"
import type { ShadowRepository } from "../../src/workspace/ShadowRepository.ts"
import type { Seeded } from "../harness/Seeded.ts"
import { readTree, shownTree, writeTreeFile } from "./ChangePlace.ts"
import { changesOf, decide, folderWith, steppedOperations } from "./Decisions.ts"
import { randomTrees, type Tree, type TreeFile } from "./RandomTrees.ts"

const text = (lines: ReadonlyArray<string>): TreeFile => ({
  mode: "100644",
  content: Buffer.from(lines.map((line) => `${line}\n`).join(""))
})

const NAMES = ["a.txt", "b.txt", "sub/c.txt"] as const
const LINES = 40

/** A few files of distinct lines, and what an agent made of them: each of its lines begins with `agent`. */
const simpleTrees = (seeded: Seeded) => {
  const base = new Map<string, TreeFile>()
  const result = new Map<string, TreeFile>()
  for (const name of NAMES) {
    const lines = Array.from({ length: LINES }, (_, at) => `${name} line ${at}`)
    base.set(name, text(lines))
    const places = Array.from({ length: seeded.whole(1, 3) }, () => seeded.whole(0, LINES - 1))
    result.set(name, text(lines.map((line, at) => (places.includes(at) ? `agent ${line}` : line))))
  }
  result.set("new/d.txt", text(["agent new"]))
  const kind = seeded.whole(0, 3)
  if (kind === 0) result.delete("b.txt")
  return { base, result }
}

class Person {
  readonly marks: Array<string> = []
  readonly #seen = new Map<string, string>()
  readonly #root: string
  readonly #seeded: Seeded

  constructor(root: string, seeded: Seeded, base: Tree) {
    this.#root = root
    this.#seeded = seeded
    for (const [name, { content }] of base) this.#seen.set(name, content.toString())
  }

  /** Reads a file, adds a line and saves it. Without the file, the person saves what the editor has. */
  edit(name: string = this.#seeded.pick(NAMES)): void {
    const file = join(this.#root, name)
    const isThere = existsSync(file)
    const lines = (isThere ? readFileSync(file, "utf8") : (this.#seen.get(name) ?? "")).split("\n")
    const mark = `person ${this.marks.length} of ${name}`
    lines.splice(this.#seeded.whole(0, lines.length - 1), 0, mark)
    const content = lines.join("\n")
    this.marks.push(mark)
    this.#seen.set(name, content)
    if (this.#seeded.whole(0, 1) === 0) return writeFileSync(file, content)
    writeFileSync(`${file}.swp`, content)
    renameSync(`${file}.swp`, file)
  }
}

export interface InterleavingCounts {
  done: number
  conflict: number
  /** Edits of the person. */
  edits: number
  /** Refused decisions that left parts of the change, because a person edited them meanwhile in a way that cannot be taken apart. */
  left: number
}

/** One decision while a person edits: `edits` comes before each of its calls of the system. */
const decideBeside = Effect.fnUntraced(function* (
  place: string,
  shadow: ShadowRepository,
  seeded: Seeded,
  base: Tree,
  changes: ReadonlyArray<PathChange>,
  edits: (person: Person) => void
) {
  const root = folderWith(place, "workspace", base)
  const person = new Person(root, seeded, base)
  const commit = new DecisionCommit(
    yield* Store,
    steppedOperations(() => edits(person))
  )
  const { end } = yield* decide(commit, shadow, root, changes)
  const now = readTree(root)
  const all = [...now.values()].map(({ content }) => content.toString()).join("\n")
  for (const mark of person.marks) assert.include(all, mark, `${end}: the edit is lost`)
  assert.isEmpty(commit.unfinished())
  assert.isEmpty(
    [...now.keys()].filter((path) => path.startsWith(".corral-")),
    "nothing is left beside"
  )
  rmSync(place, { recursive: true })
  return { end, now, all, edits: person.marks.length }
})

/** All choices of `count` of the first `calls` calls of the system. */
export const placementsOf = (count: number, calls: number): ReadonlyArray<ReadonlyArray<number>> =>
  count === 0
    ? [[]]
    : Array.from({ length: calls }, (_, last) =>
        placementsOf(count - 1, last).map((placement) => [...placement, last])
      ).flat()

/** Decisions about one file, each with edits of it before these of its calls of the system. Returns how many edits were made. */
export const checkPlacements = Effect.fnUntraced(function* (
  parent: string,
  shadow: ShadowRepository,
  seeded: Seeded,
  placements: ReadonlyArray<ReadonlyArray<number>>
) {
  const lines = Array.from({ length: LINES }, (_, at) => `line ${at}`)
  const base: Tree = new Map([["a.txt", text(lines)]])
  const result: Tree = new Map([["a.txt", text(["agent", ...lines])]])
  const changes = yield* changesOf(shadow, base, result)
  let editCount = 0
  for (const placement of placements) {
    let call = 0
    const place = mkdtempSync(join(parent, "placed-"))
    const { edits } = yield* decideBeside(place, shadow, seeded, base, changes, (person) => {
      if (placement.includes(call++)) person.edit("a.txt")
    })
    editCount += edits
  }
  return editCount
})

/** One decision with edits between its steps. */
export const checkInterleaving = Effect.fnUntraced(function* (
  parent: string,
  shadow: ShadowRepository,
  seeded: Seeded,
  counts: InterleavingCounts
) {
  const { base, result } = simpleTrees(seeded)
  const place = mkdtempSync(join(parent, "edits-"))
  const rarity = seeded.pick([2, 5, 20, 40])
  const changes = yield* changesOf(shadow, base, result)
  const { all, edits, end, now } = yield* decideBeside(place, shadow, seeded, base, changes, (person) => {
    if (seeded.whole(1, rarity) === 1 && person.marks.length < 6) person.edit()
  })
  counts[end]++
  counts.edits += edits
  if (end === "conflict" && all.includes("agent ")) counts.left++
  if (end === "done")
    for (const [name, { content }] of result)
      for (const line of content
        .toString()
        .split("\n")
        .filter((each) => each.startsWith("agent ")))
        if (now.has(name)) assert.include(now.get(name)?.content.toString(), line, "the change is whole")
})

/** An acceptance and its undo, exact; and an undo after an edit, refused with both sides or with the edit in the result. */
export const checkUndo = Effect.fnUntraced(function* (
  parent: string,
  shadow: ShadowRepository,
  seeded: Seeded
) {
  const { base, result } = randomTrees(seeded)
  const place = mkdtempSync(join(parent, "undo-"))
  const root = folderWith(place, "workspace", base)
  const commit = new DecisionCommit(yield* Store, nodeOperations)
  const accepted = yield* decide(commit, shadow, root, yield* changesOf(shadow, base, result))
  assert.strictEqual(accepted.end, "done")
  assert.deepStrictEqual(shownTree(readTree(root)), shownTree(result))
  const files = [...result].filter(([, { mode }]) => mode !== "120000")
  const edited = seeded.whole(0, 1) === 0 ? files[seeded.whole(0, files.length - 1)] : undefined
  if (edited !== undefined) {
    const [path, file] = edited
    writeTreeFile(root, path, { ...file, content: Buffer.from("another content\n") })
  }
  const undone = yield* decide(commit, shadow, root, accepted.paths.map(turned))
  const now = readTree(root)
  const changed =
    edited !== undefined && accepted.paths.some(({ path }) => path.toString("latin1") === edited[0])
  if (edited === undefined) assert.deepStrictEqual(shownTree(now), shownTree(base))
  else if (!changed) assert.strictEqual(now.get(edited[0])?.content.toString(), "another content\n")
  else if (undone.end === "conflict")
    assert.deepStrictEqual(
      shownTree(now),
      shownTree(
        new Map([...result, [edited[0], { ...edited[1], content: Buffer.from("another content\n") }]])
      ),
      "nothing is undone"
    )
  rmSync(place, { recursive: true })
  return undone.end
})
