import { groupsHere } from "@corral/testing/edge/Survivors"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readdirSync } from "node:fs"
import { basename } from "node:path"
import { edgeGroup } from "../../src/process/ControlGroup.ts"
import { newRun, type RecordedRun, startShell } from "./HeldCase.ts"
import { type ConnectedEdge, connectEdge, holdersOf, openHome, untilGone } from "./HolderHome.ts"

const groupsOfTest = (): string => edgeGroup(groupsHere ?? "", `edge_${newRun()}`)

/** Starts runs of the script until one of them starts in a group that the holder has prepared. */
const startPrepared = (edge: ConnectedEdge, script: string, groups: string): Promise<RecordedRun> =>
  until(async () => {
    const run = await startShell(edge, script, { groups })
    if (run.connection.opened.group !== undefined) return run
    await Effect.runPromise(run.connection.end)
    return undefined
  }, "a prepared group")

const groupNames = (groups: string): ReadonlyArray<string> =>
  existsSync(groups) ? readdirSync(groups).filter((name) => name.startsWith("ready-")) : []

describe.skipIf(groupsHere === undefined)("a control group that the holder has prepared", () => {
  it("is that of the next run, and is removed with the run", async () => {
    const [edge, groups] = [await connectEdge({ home: openHome() }), groupsOfTest()]
    const { child, connection, record } = await startPrepared(
      edge,
      "cat /proc/self/cgroup; read line; echo $line; exit 3",
      groups
    )
    const group = connection.opened.group ?? ""
    child.write("hello\n")
    assert.deepInclude(await record.ended.promise, { code: 3, stderr: "" })
    assert.include(record.output.toString(), `/${basename(group)}\n`)
    assert.isTrue(record.output.toString().endsWith("hello\n"))
    await Effect.runPromise(connection.end)
    assert.isFalse(existsSync(group))
  })

  it("is named to the next Edge", async () => {
    const [home, groups] = [openHome(), groupsOfTest()]
    const edge = await connectEdge({ home })
    const { connection, id } = await startPrepared(edge, "read line", groups)
    await edge.close()
    const next = await connectEdge({ home })
    assert.deepStrictEqual(
      next.holder.found.map((found) => [found.id, found.group]),
      [[id, connection.opened.group]]
    )
    const again = await Effect.runPromise(next.holder.open(id))
    assert.strictEqual(again.opened.group, connection.opened.group)
    await Effect.runPromise(again.end)
  })

  it("is removed with a run that does not start", async () => {
    const [edge, groups] = [await connectEdge({ home: openHome() }), groupsOfTest()]
    const connection = await until(async () => {
      const opened = await Effect.runPromise(edge.holder.open(newRun(), undefined, groups))
      if (opened.opened.group !== undefined) return opened
      await Effect.runPromise(opened.end)
      return undefined
    }, "a prepared group")
    await Effect.runPromise(connection.end)
    assert.isFalse(existsSync(connection.opened.group ?? ""))
  })

  it("is removed when the Edge has left and no run is alive", async () => {
    const [home, groups] = [openHome(), groupsOfTest()]
    const edge = await connectEdge({ home })
    const { connection } = await startPrepared(edge, "exit 0", groups)
    await Effect.runPromise(connection.end)
    await until(async () => (groupNames(groups).length > 0 ? true : undefined), "the next group")
    const [holder = 0] = holdersOf(home)
    await edge.close()
    await untilGone(holder)
    assert.deepStrictEqual(groupNames(groups), [])
  })
})
