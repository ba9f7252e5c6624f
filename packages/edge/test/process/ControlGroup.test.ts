import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync, rmdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  edgeGroup,
  emptyGroup,
  commandInGroup,
  groupsOfEdge,
  killGroup,
  makeGroup,
  ownGroup,
  removeGroup
} from "../../src/process/ControlGroup.ts"
import { runSweep } from "../../src/process/Containment.ts"
import { groupsHere } from "@corral/testing/edge/Survivors"

let counter = 0
const newEdge = () => `edge_test${process.pid}x${++counter}`

it("finds no group to kill or to remove where there is none", () => {
  const none = join(tmpdir(), "corral-none", "run_1")
  assert.isFalse(killGroup(none))
  assert.isTrue(removeGroup(none))
  assert.deepStrictEqual(groupsOfEdge(newEdge()), [])
})

it("runs nothing where the group cannot be entered", () => {
  const { args, file } = commandInGroup("/nowhere", "/bin/sh", ["-c", "echo ran"])
  const { status, stdout } = spawnSync(file, args, { encoding: "utf8" })
  assert.deepStrictEqual([status, stdout], [126, ""])
})

describe.skipIf(groupsHere === undefined)("where groups can be made", () => {
  const parentGroup = ownGroup() ?? "(none)"

  it("knows its own group", () => {
    assert.strictEqual(parentGroup, groupsHere)
    assert.include(readFileSync(join(parentGroup, "cgroup.procs"), "utf8").split("\n"), String(process.pid))
  })

  /** A run's group of a separate Edge. Removed with the test. */
  const newGroup = Effect.acquireRelease(
    Effect.sync(() => {
      const group = join(edgeGroup(parentGroup, newEdge()), "run_1")
      makeGroup(group)
      return group
    }),
    (group) => Effect.andThen(runSweep(emptyGroup(group)), () => Effect.sync(() => removeGroup(group)))
  )

  it.live("makes a group while another process removes the last one of the Edge", () =>
    Effect.gen(function* () {
      const edge = edgeGroup(parentGroup, newEdge())
      const [mine, others] = [join(edge, "run_1"), join(edge, "run_2")]
      const source = new URL("../../src/process/ControlGroup.ts", import.meta.url).href
      const script = `
        import { makeGroup, removeGroup } from ${JSON.stringify(source)}
        for (process.stdout.write("started");;) {
          makeGroup(${JSON.stringify(others)})
          removeGroup(${JSON.stringify(others)})
        }`
      const args = ["--input-type=module", "-e", script]
      const other = yield* Effect.acquireRelease(
        Effect.sync(() => spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      const ended = once(other, "close")
      yield* Effect.promise(() => once(other.stdout, "data"))
      for (let round = 0; round < 1_000; round++) {
        makeGroup(mine)
        removeGroup(mine)
      }
      other.kill("SIGKILL")
      // It would have ended by itself.
      assert.deepStrictEqual(yield* Effect.promise(() => ended), [null, "SIGKILL"])
      removeGroup(others)
    })
  )

  it.live("runs a program as the process that entered, its arguments and environment as given", () =>
    Effect.gen(function* () {
      const group = yield* newGroup
      const odd = ["", " ", "a b", "'", '"', "$HOME", "`id`", "\\", "*", "-n", "--", "a\nb", "ü🐎", "$$"]
      const script = 'echo $$; cat /proc/self/cgroup; for each in "$@"; do printf "<%s>" "$each"; done'
      const { args, file } = commandInGroup(group, "/bin/sh", ["-c", script, "name", ...odd])
      const { pid, stdout } = spawnSync(file, args, { encoding: "utf8", env: {} })
      const [first, ...rest] = stdout.split("\n")
      assert.strictEqual(Number(first), pid)
      const text = rest.join("\n")
      assert.include(text, "/run_1\n")
      assert.isTrue(text.endsWith(odd.map((each) => `<${each}>`).join("")), text)

      const env = { ONE: "1", TWO: "zwei ü", PWD: process.cwd() }
      const printed = commandInGroup(group, "/usr/bin/env", ["-0"])
      const received = spawnSync(printed.file, printed.args, { encoding: "utf8", env }).stdout
      // What a shell counts for itself is no harm.
      const seen = received.split("\0").filter((entry) => entry !== "" && !/^(_|SHLVL|OLDPWD)=/.test(entry))
      assert.deepStrictEqual(
        seen.toSorted(),
        Object.entries(env)
          .map(([name, value]) => `${name}=${value}`)
          .toSorted()
      )
    })
  )

  it.live("removes what was made inside, and the Edge's own with its last", () =>
    Effect.gen(function* () {
      const group = yield* newGroup
      const second = join(group, "..", "run_2")
      makeGroup(second)
      mkdirSync(join(group, "a", "b", "c"), { recursive: true })
      assert.isTrue(removeGroup(group))
      assert.isFalse(existsSync(group))
      assert.isTrue(existsSync(second), "of another run")
      assert.isTrue(removeGroup(second))
      assert.isFalse(existsSync(join(group, "..")))
      assert.isTrue(existsSync(parentGroup), "and nothing above")
    })
  )

  it.live("finds all groups of an Edge, wherever it stood, and of no other", () =>
    Effect.gen(function* () {
      const [edge, other] = [newEdge(), newEdge()]
      const elsewhere = join(parentGroup, `test-${edge}`)
      const [here, there, foreign] = [
        edgeGroup(parentGroup, edge),
        edgeGroup(elsewhere, edge),
        edgeGroup(parentGroup, other)
      ]
      yield* Effect.acquireRelease(
        Effect.sync(() => [here, there, foreign].forEach(makeGroup)),
        () => Effect.sync(() => [here, there, elsewhere, foreign].forEach((group) => rmdirSync(group)))
      )
      assert.deepStrictEqual(groupsOfEdge(edge).toSorted(), [here, there].toSorted())
      assert.deepStrictEqual(groupsOfEdge(other), [foreign])
      assert.deepStrictEqual(groupsOfEdge(edge.slice(0, -1)), [])
    })
  )
})
