/** Decisions whose process is killed, also while it recovers one, with edits of a person in between. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { checkKills, eachKill, playLives, treeOf, type Trees } from "./Interrupted.ts"
import { shadowPlace } from "./Subsets.ts"

const lines = Array.from({ length: 20 }, (_, at) => `line ${at}\n`)
const before = lines.join("")
const after = lines.with(10, "agent\n").join("")
const changed: Trees = { base: treeOf({ a: before }), result: treeOf({ a: after }) }

describe("A decision that is killed", () => {
  it.live("and whose reversal is killed, is complete or absent", () => checkKills(changed))

  it.live("gives a person's edit of the new version to the version before", () => {
    let hasEdited = false
    const edit = (root: string) => {
      const file = join(root, "a")
      hasEdited = existsSync(file) && readFileSync(file, "utf8") === after
      if (hasEdited) appendFileSync(file, "mine\n")
    }
    return eachKill(
      changed,
      (first, second) => [{ calls: first }, { before: edit, calls: second }],
      ({ files, isDecided }, message) => {
        const expected = isDecided ? after : before
        assert.deepStrictEqual(files, { a: hasEdited ? `${expected}mine\n` : expected }, message)
        hasEdited = false
      }
    )
  })

  it.live("keeps what a person writes while it has a file away, or its reversal", () => {
    const earlier = `${before}mine 1\n`
    const rewritten = lines.with(3, "mine 2\n").join("")
    let hasWritten = false
    const write = (root: string) => {
      const file = join(root, "a")
      hasWritten = !existsSync(file)
      if (hasWritten) writeFileSync(file, rewritten)
    }
    return eachKill(
      { ...changed, workspace: treeOf({ a: earlier }) },
      (first, second) => [{ calls: first }, { calls: second }, { before: write }],
      ({ files, isDecided }, message) => {
        if (hasWritten) assert.deepStrictEqual(files, { a: rewritten, "a.before": earlier }, message)
        else assert.deepStrictEqual(files, { a: isDecided ? `${after}mine 1\n` : earlier }, message)
        hasWritten = false
      }
    )
  })
})

describe("A decision", () => {
  /** Plays one with a person's edit ahead of each of its calls, and returns the texts that are there then. */
  const editedAtEach = Effect.fnUntraced(function* (
    trees: Trees,
    edit: (root: string) => void,
    check: (texts: ReadonlyArray<string>, message: string) => void
  ) {
    const { folder, shadow } = yield* shadowPlace
    for (let call = 0, isMade = true; isMade; call++) {
      isMade = false
      const during = (root: string, next: number) => {
        if (next !== call) return
        isMade = true
        edit(root)
      }
      const { files } = yield* playLives(folder, shadow, trees, [{ during }])
      if (isMade) check(Object.values(files), `before call ${call}`)
    }
  }, Effect.scoped)

  it.live("ends if a person moves the folder of its files", () =>
    editedAtEach(
      { base: treeOf({ "p/f/x": "inner\n", z: before }), result: treeOf({ "p/f": "file\n", z: after }) },
      (root) => {
        if (existsSync(join(root, "p"))) renameSync(join(root, "p"), join(root, "q"))
      },
      (texts, message) => assert.isTrue(texts.includes("inner\n") || texts.includes("file\n"), message)
    )
  )

  it.live("ends if a person writes a file where its folders were", () =>
    editedAtEach(
      {
        base: treeOf({ "f/g/x": "inner\n", z: before }),
        result: treeOf({ f: "file\n", z: after, zz: "new\n" })
      },
      (root) => {
        rmSync(join(root, "f"), { recursive: true, force: true })
        writeFileSync(join(root, "f"), "mine\n")
        writeFileSync(join(root, "zz"), "mine too\n")
      },
      (texts, message) => assert.includeMembers([...texts], ["mine\n", "mine too\n"], message)
    )
  )

  it.live("is reversed if a changed file goes away meanwhile, as when an editor saves", () =>
    Effect.gen(function* () {
      const { folder, shadow } = yield* shadowPlace
      const trees = { base: treeOf({ a: before, b: before }), result: treeOf({ a: after, b: after }) }
      for (let call = 10, isAway = true; isAway; call++) {
        isAway = false
        const during = (root: string, next: number) => {
          if (next === 9) writeFileSync(join(root, "b"), "mine\n")
          if (next !== call) return
          isAway = true
          rmSync(join(root, "b"), { force: true })
        }
        const { files } = yield* playLives(folder, shadow, trees, [{ during }])
        assert.include([before, after], files["a"], `before call ${call}`)
        assert.notProperty(files, "a.before", `before call ${call}`)
      }
    }).pipe(Effect.scoped)
  )

  it.live.each([
    { what: "letters", name: "n".repeat(250) },
    { what: "letters of two bytes", name: "ä".repeat(125) }
  ])("keeps both versions of a file whose name is 250 bytes of $what", ({ name }) => {
    const file = Buffer.from(name).toString("latin1")
    const mine = `mine\n${lines.slice(0, 15).join("")}`
    return editedAtEach(
      { base: treeOf({ [file]: before }), result: treeOf({ [file]: after }) },
      (root) => writeFileSync(join(root, name), mine),
      (texts, message) =>
        assert.isTrue(
          texts.some((text) => text.startsWith("mine\n")),
          message
        )
    )
  })
})
