/** Which changes of a repository count, and which are explained. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { RepositoryRecord } from "../../src/confinement/RepositoryRecord.ts"
import { RepositoryWatch } from "../../src/confinement/RepositoryWatch.ts"
import { openFolder } from "../Folder.ts"
import { request, runIdOf } from "../Samples.ts"
import { commitAll, git, sampleRepository } from "../workspace/Repository.ts"

const opened = (prepare: (root: string) => void = sampleRepository) => {
  const root = openFolder()
  prepare(root)
  const watch = new RepositoryWatch(root)
  watch.start()
  return { root, watch }
}

const command = (text: string): ApprovalRequest => request({ action: "shell", command: text })

describe("RepositoryWatch", () => {
  const silent: Readonly<Record<string, (root: string) => void>> = {
    "a look at the status": (root) => {
      utimesSync(join(root, "a.txt"), 1, 1)
      git(root, "status")
      git(root, "diff")
    },
    "packed refs": (root) => git(root, "pack-refs", "--all"),
    "a collection of garbage": (root) => git(root, "gc", "-q"),
    "an edited file": (root) => writeFileSync(join(root, "a.txt"), "2\n")
  }

  it.each(Object.entries(silent))("does not count %s", (_, change) => {
    const { root, watch } = opened()
    change(root)
    assert.isUndefined(watch.compare(true))
  })

  const counted: ReadonlyArray<readonly [string, (root: string) => unknown, ReadonlyArray<string>]> = [
    ["a moved branch", (root) => git(root, "commit", "-q", "--allow-empty", "-m", "x"), ["refs/heads/main"]],
    ["a new branch", (root) => git(root, "branch", "new"), ["refs/heads/new"]],
    [
      "a branch with the name of a run",
      (root) => git(root, "branch", "corral/run_1"),
      ["refs/heads/corral/run_1"]
    ],
    ["a deleted tag", (root) => git(root, "tag", "-d", "v1"), ["refs/tags/v1"]],
    ["a deleted stash", (root) => rmSync(join(root, ".git/refs/stash")), ["refs/stash"]],
    ["a stash", (root) => git(root, "update-ref", "refs/stash", "HEAD"), ["refs/stash"]],
    [
      "a replacement",
      (root) => git(root, "update-ref", `refs/replace/${"1".repeat(40)}`, "HEAD"),
      ["refs/replace"]
    ],
    [
      "a ref that is a link",
      (root) => symlinkSync("main", join(root, ".git/refs/heads/link")),
      ["refs/heads/link"]
    ],
    ["another branch", (root) => git(root, "checkout", "-q", "-b", "other"), ["refs/heads/other", "HEAD"]],
    ["a commit without a branch", (root) => git(root, "checkout", "-q", "--detach"), ["HEAD"]],
    [
      "a file in the index",
      (root) => {
        const blob = git(root, "hash-object", "-w", "a.txt").trim()
        git(root, "update-index", "--add", "--cacheinfo", `100755,${blob},evil.sh`)
      },
      ["index"]
    ],
    ["a mode in the index", (root) => git(root, "update-index", "--chmod=+x", "a.txt"), ["index"]],
    [
      "a file that git overlooks",
      (root) => git(root, "update-index", "--assume-unchanged", "a.txt"),
      ["index"]
    ],
    ["no index", (root) => rmSync(join(root, ".git/index")), ["index"]],
    [
      "a tree that the next commit takes over",
      (root) => {
        const path = join(root, ".git/index")
        const bytes = readFileSync(path)
        const tree = Buffer.from(git(root, "rev-parse", "HEAD^{tree}").trim(), "hex")
        assert.isAbove(bytes.indexOf(tree), 0)
        bytes.fill(7, bytes.indexOf(tree), bytes.indexOf(tree) + tree.length)
        writeFileSync(path, bytes)
      },
      ["index"]
    ],
    [
      "a file that a sparse checkout leaves out",
      (root) => git(root, "update-index", "--skip-worktree", "a.txt"),
      ["index"]
    ],
    ["an index in two files", (root) => git(root, "update-index", "--split-index"), ["index", "sharedindex"]],
    [
      "a table of refs",
      (root) => {
        mkdirSync(join(root, ".git/reftable"))
        writeFileSync(join(root, ".git/reftable/tables.list"), "0x000000000001-0x000000000001-00000000.ref\n")
      },
      ["reftable/tables.list"]
    ],
    [
      "a file with the name of a branch",
      (root) => writeFileSync(join(root, ".git/main"), git(root, "rev-parse", "HEAD")),
      ["main"]
    ],
    [
      "a name that is not UTF-8",
      (root) =>
        writeFileSync(Buffer.from(`${root}/.git/refs/heads/\xff`, "latin1"), git(root, "rev-parse", "HEAD")),
      ["refs/heads/\uFFFDFF"]
    ],
    [
      "a ref with another space in its name",
      (root) => git(root, "update-ref", "refs/heads/a\u3000b", "HEAD"),
      ["refs/heads/a\u3000b"]
    ],
    [
      "a shallow clone",
      (root) => writeFileSync(join(root, ".git/shallow"), `${"1".repeat(40)}\n`),
      ["shallow"]
    ]
  ]

  const id = "1".repeat(40)
  const packed: Readonly<Record<string, (lines: ReadonlyArray<string>) => ReadonlyArray<string>>> = {
    "another order": ([header = "", ...lines]) => [header, ...lines.toReversed()],
    "a name twice": (lines) => [...lines, lines.at(-1) ?? ""],
    "a line of another kind": (lines) => [...lines, "refs"],
    "a ref without a place": (lines) => [...lines, `${id} main`],
    "a second header": (lines) => [...lines, "# pack-refs with: sorted "],
    "an object without a tag": ([header = "", ...lines]) => [header, `^${id}`, ...lines],
    "an empty line": (lines) => [...lines, ""],
    "no end": (lines) => [...lines, `${id} refs/heads/zz\r`]
  }

  it.effect.each(Object.entries(packed))("counts packed refs with %s, and puts them back", ([, bend]) =>
    Effect.gen(function* () {
      const { root } = opened((folder) => {
        sampleRepository(folder)
        for (const name of ["x", "y"]) git(folder, "branch", name)
        git(folder, "pack-refs", "--all")
      })
      const before = git(root, "show-ref")
      const record = new RepositoryRecord(openFolder(), runIdOf(1))
      const watch = new RepositoryWatch(root, record)
      watch.start()
      const path = join(root, ".git/packed-refs")
      const lines = bend(readFileSync(path, "utf8").trimEnd().split("\n"))
      writeFileSync(path, `${lines.join("\n")}\n`)
      assert.deepStrictEqual(watch.compare(true)?.files, [{ path: "packed-refs", change: "modified" }])
      yield* record.restore("git")
      assert.strictEqual(git(root, "show-ref"), before)
      assert.isUndefined(watch.compare(true))
    })
  )

  it("says once that it did not compare everything, and reports what it knows", () => {
    const { root, watch } = opened()
    const deep = join(root, ".git/refs/heads", ...Array.from({ length: 30 }, () => "d"))
    mkdirSync(deep, { recursive: true })
    git(root, "branch", "feature")
    assert.deepInclude(watch.compare(false), { incomplete: true })
    git(root, "branch", "-f", "feature", git(root, "commit-tree", "-m", "x", "HEAD^{tree}").trim())
    const found = watch.compare(false)
    assert.deepInclude(found?.refs[0], { name: "refs/heads/feature" })
    assert.isUndefined(found?.incomplete)
  })

  it("counts refs of the repository of a linked worktree, and its own branch and index", () => {
    const folder = openFolder()
    const [main, linked] = [join(folder, "main"), realpathSync(folder) + "/linked"]
    mkdirSync(main)
    sampleRepository(main)
    git(main, "worktree", "add", "-q", linked)
    const watch = new RepositoryWatch(linked)
    watch.start()
    assert.isUndefined(watch.compare(false))
    git(linked, "commit", "-q", "--allow-empty", "-m", "x")
    git(linked, "update-index", "--chmod=+x", "a.txt")
    git(linked, "checkout", "-q", "-b", "other")
    git(main, "branch", "-f", "corral/x")
    const found = watch.compare(false)
    assert.deepStrictEqual(
      found?.refs.map(({ name }) => name),
      ["refs/heads/corral/x", "refs/heads/linked", "refs/heads/other"]
    )
    assert.deepInclude(found, {
      index: true,
      head: { from: "ref: refs/heads/linked", to: "ref: refs/heads/other" }
    })
  })

  it.each(counted)("counts %s, once", (_, change, expected) => {
    const { root, watch } = opened((folder) => {
      sampleRepository(folder)
      git(folder, "tag", "v1")
      if (expected.includes("refs/stash")) {
        writeFileSync(join(folder, "a.txt"), "stashed\n")
        git(folder, "stash", "-q")
      }
    })
    change(root)
    const found = watch.compare(false)
    const names = [
      ...(found?.refs ?? []).map(({ name }) => name.replace(/^(refs\/replace)\/.*/, "$1")),
      ...(found?.head === undefined ? [] : ["HEAD"]),
      ...(found?.index === true ? ["index"] : []),
      ...(found?.files ?? []).flatMap(({ path }) =>
        // A stash writes its list, too.
        path === "logs/refs/stash" ? [] : [path.replace(/^(sharedindex)\..*/, "$1")]
      )
    ]
    assert.deepStrictEqual(names, [...expected])
    assert.isUndefined(watch.compare(false))
  })

  it.each([
    ["git commit -m x", true],
    ["cd sub && /usr/bin/git commit -m x", true],
    ["npm test; git commit -m x", true],
    ["npm version 1.0.0", false],
    ["echo digit", false]
  ])("takes the approved command %s as an explanation: %s", (text, isExplained) => {
    const { root, watch } = opened()
    watch.allow(command(text), { decision: "allow", scope: "once" })
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    assert.strictEqual(watch.compare(false) === undefined, isExplained)
    git(root, "commit", "-q", "--allow-empty", "-m", "y")
    assert.isDefined(watch.compare(false), "one approval explains one change")
  })

  it("takes a remembered approval as an explanation of all changes, and a denial of none", () => {
    const { root, watch } = opened()
    watch.allow(command("git commit -m x"), { decision: "deny", scope: "once" })
    git(root, "branch", "a")
    assert.isDefined(watch.compare(false))
    watch.allow(command("git commit -m x"), { decision: "allow", scope: "run" })
    for (const name of ["b", "c"]) {
      git(root, "branch", name)
      assert.isUndefined(watch.compare(false))
    }
  })

  it("continues in the next Edge", () => {
    const { root, watch } = opened()
    const next = new RepositoryWatch(root)
    next.restore(JSON.parse(JSON.stringify(watch.state)) as typeof watch.state)
    commitAll(root)
    assert.deepInclude(next.compare(true)?.refs[0], { name: "refs/heads/main" })
  })

  /** A run that moves, makes and deletes refs, checks out another branch and changes the index, in two steps. */
  const ruined = () => {
    const root = openFolder()
    sampleRepository(root)
    git(root, "tag", "v1")
    git(root, "branch", "feature")
    const home = openFolder()
    const before = stateOf(root)
    const record = new RepositoryRecord(home, runIdOf(1))
    const watch = new RepositoryWatch(root, record)
    watch.start()
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    assert.isDefined(watch.compare(false))
    git(root, "commit", "-q", "--allow-empty", "-m", "two")
    git(root, "tag", "-d", "v1")
    git(root, "branch", "-f", "feature")
    git(root, "checkout", "-q", "-b", "new")
    const blob = git(root, "hash-object", "-w", "a.txt").trim()
    git(root, "update-index", "--add", "--cacheinfo", `100755,${blob},evil.sh`)
    assert.isDefined(watch.compare(true))
    watch.close()
    return { root, home, before, record: new RepositoryRecord(home, runIdOf(1)) }
  }

  const stateOf = (root: string) => [
    git(root, "for-each-ref"),
    git(root, "symbolic-ref", "HEAD"),
    git(root, "ls-files", "--stage"),
    git(root, "status", "--porcelain")
  ]

  it.effect("puts back everything that it reported, once", () =>
    Effect.gen(function* () {
      const { before, record, root } = ruined()
      assert.notDeepEqual(stateOf(root), before)
      yield* record.restore("git")
      assert.deepStrictEqual(stateOf(root), before)
      assert.strictEqual((yield* Effect.flip(record.restore("git"))).code, "not_found")
    })
  )

  it.effect.each<readonly [string, (root: string) => void]>([
    ["a ref", (root) => void git(root, "branch", "-f", "feature", "main~1")],
    ["the branch", (root) => void git(root, "checkout", "-q", "-f", "main")],
    ["the index", (root) => void git(root, "add", "a.txt", "--chmod=+x")]
  ])("puts back nothing if the owner has changed %s since", ([, change]) =>
    Effect.gen(function* () {
      const { record, root } = ruined()
      change(root)
      const changed = stateOf(root)
      assert.strictEqual((yield* Effect.flip(record.restore("git"))).code, "conflict")
      assert.deepStrictEqual(stateOf(root), changed)
    })
  )

  it.effect("puts back nothing whose objects are gone", () =>
    Effect.gen(function* () {
      const { record, root } = ruined()
      rmSync(join(root, ".git/objects"), { recursive: true })
      mkdirSync(join(root, ".git/objects"))
      assert.strictEqual((yield* Effect.flip(record.restore("git"))).code, "conflict")
    })
  )

  it("keeps nothing of a run that changed nothing, or whose changes are explained", () => {
    const root = openFolder()
    sampleRepository(root)
    const home = openFolder()
    const watch = new RepositoryWatch(root, new RepositoryRecord(home, runIdOf(1)))
    watch.start()
    watch.allow(command("git commit -m x"), { decision: "allow", scope: "once" })
    git(root, "commit", "-q", "--allow-empty", "-m", "x")
    assert.isUndefined(watch.compare(false))
    watch.close()
    assert.deepStrictEqual(readdirSync(join(home, "repositories")), [])
  })

  it("needs a repository", () => {
    const { root, watch } = opened(() => undefined)
    mkdirSync(join(root, ".git"))
    assert.isUndefined(watch.compare(true))
  })
})
