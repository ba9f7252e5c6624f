/** `GET /health`, `GET /v1/health`: readiness, with details for the token's holder. `GET /health/live`: liveness. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { clockSkewProblem } from "@corral/service/clock/ClockOffset"
import { slowCommitsProblem } from "@corral/service/CommitTimes"
import { livenessOk, type EdgeReadiness, type HealthProblem } from "@corral/domain/http/Health"
import { Confinement } from "../confinement/Confinement.ts"
import { Layers } from "../layer/Layers.ts"
import { RuntimeStates } from "../confinement/RuntimeStates.ts"
import { Containment } from "../process/Containment.ts"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { EdgeInstance } from "../EdgeInstance.ts"
import { HubLink } from "../link/HubLink.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { diskOf, findGit, LOW_DISK_BYTES, Programs } from "../runtime/Programs.ts"
import { Runtimes } from "../runtime/Runtimes.ts"
import { Store } from "../store/Store.ts"
import { LOST_HINT, RESTORE_HINT } from "../store/StoreDamage.ts"
import { LocalToken } from "../LocalToken.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { join } from "node:path"

export const edgeHealth = HttpApiBuilder.group(
  EdgeApi,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const config = yield* EdgeConfig
    const confinement = yield* Confinement
    const containment = yield* Containment
    const layers = yield* Layers
    const instance = yield* EdgeInstance
    const hub = yield* HubLink
    const runs = yield* RunSupervisor
    const runtimes = yield* Runtimes
    const programs = yield* Programs
    const states = yield* RuntimeStates
    const store = yield* Store
    const token = yield* LocalToken
    const workspaces = yield* Workspaces

    const readiness = Effect.fnUntraced(function* () {
      const { instanceId, version, startedAt } = instance
      const request = yield* HttpServerRequest.HttpServerRequest
      const disk = yield* diskOf(config.home)
      const file = yield* runtimes.config
      const storeProblem = storeProblemOf(store)
      const slowCommits = store.slowCommits()
      const problems = [
        ...(storeProblem === undefined ? [] : [storeProblem]),
        ...(store.lost === undefined
          ? []
          : [{ part: "store", message: store.lost, hint: LOST_HINT } as const]),
        ...(slowCommits === undefined ? [] : [slowCommitsProblem("disk", slowCommits, SLOW_DISK_HINT)]),
        ...clockSkewProblem(hub.skewMs(), "the Hub", CLOCK_HINT),
        ...(disk === undefined || disk.freeBytes >= LOW_DISK_BYTES ? [] : [lowDisk]),
        ...(file?.problem === undefined ? [] : [configProblem(file.path, file.problem)]),
        ...(yield* runtimes.adapterProblems).map(adapterProblem),
        ...(states.unreturned() === 0 ? [] : [stateProblem(states.unreturned(), config.home)])
      ]
      const status = problems.length === 0 ? "ok" : "degraded"
      const answer = (body: EdgeReadiness) =>
        storeProblem === undefined ? Effect.succeed(body) : Effect.fail(body)
      const bearer = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1]
      if (bearer === undefined || !token.matches(bearer)) return yield* answer({ status, instanceId })
      return yield* answer({
        status,
        instanceId,
        ...(problems.length === 0 ? {} : { problems }),
        process: {
          version,
          pid: process.pid,
          node: process.version,
          uptimeMs: Math.round(performance.now() - startedAt)
        },
        runs: { live: runs.liveRuns(), queued: runs.queuedRuns() },
        store: {
          status: storeProblem === undefined ? "ok" : "degraded",
          engine: "sqlite",
          ...disk,
          ...(storeProblem === undefined ? {} : { message: storeProblem.message })
        },
        runtimes: yield* runtimes.readiness,
        workspaces: { count: workspaces.count() },
        containment: { kind: containment.kind },
        confinement: confinement.readiness,
        layers: { ...(yield* layers.readiness), enforced: confinement.readiness.kind === "bubblewrap" },
        link: hub.readiness(),
        git: yield* Effect.provideService(findGit, Programs, programs),
        ...(disk === undefined ? {} : { disk }),
        ...(file === undefined ? {} : { config: file })
      })
    })

    return handlers.handleAll({
      health: readiness,
      v1Health: readiness,
      live: () => Effect.succeed(livenessOk)
    })
  })
)

const CLOCK_HINT =
  "Synchronize this machine with NTP. Until then, times of its runs differ from those of other machines."

/** Without its store the Edge starts no runs: that is what makes it not ready. */
const storeProblemOf = (store: Store["Service"]): HealthProblem | undefined => {
  const damage = store.damage()
  if (damage !== undefined) return { part: "store", message: damage.message, hint: RESTORE_HINT }
  const failing = store.failing()
  return failing && { part: "store", message: failing.message, hint: WRITES_HINT }
}

const WRITES_HINT =
  "The store takes no writes. Free disk space or repair the disk; the Edge recovers without a restart."

const SLOW_DISK_HINT =
  "Everything that a run says or asks waits for the disk with CORRAL_HOME. Check what else writes to it, or move CORRAL_HOME to a faster disk."

const lowDisk: HealthProblem = {
  part: "disk",
  message: "Less than 100 MB are free.",
  hint: "Free disk space."
}

const stateProblem = (count: number, home: string): HealthProblem => ({
  part: "runtime_state",
  message: `What ${count === 1 ? "a run has" : `${count} runs have`} left in the state of a runtime could not be taken back.`,
  hint: `The log of the Edge has the reasons. The files are in ${join(home, "runtime-state")}, and each start of the Edge tries again.`
})

const adapterProblem = (message: string): HealthProblem => ({
  part: "adapters",
  message,
  hint: "Correct, update or remove the adapter, then restart the Edge."
})

const configProblem = (path: string, message: string): HealthProblem => ({
  part: "config",
  message,
  hint: `Correct ${path}. The last valid configuration is in use.`
})
