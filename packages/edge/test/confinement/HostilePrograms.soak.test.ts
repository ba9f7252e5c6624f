/**
 * Hostile programs in the modes with the same mounts as those of `HostilePrograms.test.ts`, and in every mode with each way in which an Edge finds
 * the processes of a run.
 */
import { assert, describe, it } from "@effect/vitest"
import type { RunMode } from "@corral/domain/run/Run"
import { runSweep } from "../../src/process/Containment.ts"
import { groupsHere } from "@corral/testing/edge/ControlGroups"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { edgeGroup, emptyGroup, makeGroup, removeGroup } from "../../src/process/ControlGroup.ts"
import { EDGE_MARK, RUN_MARK } from "../../src/process/MarkSweep.ts"
import { newRunId } from "../Samples.ts"
import { canConfine } from "./CanConfine.ts"
import { assertHeld, users } from "./HostileRun.ts"

const MODES = ["read_only", "plan", "ask", "auto_edit"] as const satisfies ReadonlyArray<RunMode>

describe.skipIf(!canConfine)("hostile programs", { timeout: 120_000 }, () => {
  for (const [who, user] of users) {
    for (const mode of ["plan", "auto_edit"] as const)
      it(`change nothing beyond ${mode} as ${who}`, () => assertHeld(mode, user))
    for (const mode of MODES)
      it(`change nothing beyond ${mode} as ${who}, with marks`, () =>
        assertHeld(mode, user, { marks: { [RUN_MARK]: newRunId(), [EDGE_MARK]: "edge_hostile" } }))
  }
})

/** An ordinary user can't move a process into a group that the test made. */
const isRoot = process.getuid?.() === 0

describe.skipIf(!canConfine || groupsHere === undefined || !isRoot)(
  "hostile programs in a control group",
  { timeout: 120_000 },
  () => {
    const newGroup = Effect.acquireRelease(
      Effect.sync(() => {
        const group = join(edgeGroup(groupsHere ?? "", `edge_hostile${process.pid}`), newRunId())
        makeGroup(group)
        return group
      }),
      (group) => Effect.andThen(runSweep(emptyGroup(group)), () => Effect.sync(() => removeGroup(group)))
    )
    for (const mode of MODES)
      it.live(`change nothing beyond ${mode}, and leave no process`, () =>
        Effect.gen(function* () {
          const group = yield* newGroup
          yield* Effect.promise(() => assertHeld(mode, undefined, { group }))
          assert.strictEqual(readFileSync(join(group, "cgroup.procs"), "utf8"), "")
        })
      )
  }
)
