/**
 * Hostile programs in the modes with the same mounts as those of `HostilePrograms.test.ts`, and in every mode with each way in which an Edge finds
 * the processes of a run: by marks, and by a control group, which root makes and an ordinary user receives.
 */
import { describe, it } from "@effect/vitest"
import type { RunMode } from "@corral/domain/run/Run"
import { runSweep } from "../../src/process/Containment.ts"
import { groupsHere } from "@corral/testing/edge/Survivors"
import { until } from "@corral/testing/time/Until"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { chownSync } from "node:fs"
import { join } from "node:path"
import { edgeGroup, emptyGroup, isPopulated, makeGroup, removeGroup } from "../../src/process/ControlGroup.ts"
import { EDGE_MARK, RUN_MARK } from "../../src/process/ProcessSweep.ts"
import { newRunId } from "../Samples.ts"
import { canConfine } from "./CanConfine.ts"
import type { OrdinaryUser } from "./ConfinedCase.ts"
import { assertHeld, users } from "./HostileRun.ts"

/** Files of a group that its user may write, besides the folder itself. */
const DELEGATED = ["", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"]

/** Groups as a machine delegates them to a user: for the run, and for the start of an ordinary user's processes. */
const newGroups = (user: OrdinaryUser | undefined) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const parent = edgeGroup(groupsHere ?? "", `edge_hostile${process.pid}`)
      const groups = {
        group: join(parent, newRunId()),
        ...(user === undefined ? {} : { startGroup: join(parent, "start") })
      }
      for (const group of Object.values(groups)) makeGroup(group)
      if (user === undefined) return groups
      for (const group of [parent, ...Object.values(groups)])
        for (const file of DELEGATED) chownSync(join(group, file), user.uid, user.gid)
      return groups
    }),
    (groups) =>
      Effect.forEach(Object.values(groups), (group) =>
        Effect.andThen(runSweep(emptyGroup(group)), () => Effect.sync(() => removeGroup(group)))
      )
  )

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

/** A test that is not root can't move a process into a group that it made. */
const isRoot = process.getuid?.() === 0
const canDrop = spawnSync("setpriv", ["--version"]).status === 0

describe.skipIf(!canConfine || groupsHere === undefined || !isRoot || !canDrop)(
  "hostile programs in a control group",
  { timeout: 120_000 },
  () => {
    for (const [who, user] of users)
      for (const mode of MODES)
        it.live(`change nothing beyond ${mode} as ${who}, and leave no process`, () =>
          Effect.gen(function* () {
            const groups = yield* newGroups(user)
            yield* Effect.promise(() => assertHeld(mode, user, groups))
            // The first process of a namespace can still be ending when its parent has ended.
            for (const group of Object.values(groups))
              yield* Effect.promise(() =>
                until(async () => !isPopulated(group) || undefined, `the end of the processes in ${group}`)
              )
          })
        )
  }
)
