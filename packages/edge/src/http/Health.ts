/** `GET /health`, `GET /v1/health`: alive to anyone; what the Edge is made of to the token's holder. */
import { EdgeApi } from "@corral/domain/EdgeApi"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { EdgeReadiness } from "@corral/domain/Health"
import { Containment } from "../process/Containment.ts"
import type { EdgeConfig } from "../EdgeConfig.ts"
import { EdgeInstance } from "../EdgeInstance.ts"
import { HubLink } from "../link/HubLink.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { diskOf, git, LOW_DISK_BYTES } from "../runtime/Machine.ts"
import { Programs } from "../runtime/Programs.ts"
import { Runtimes } from "../runtime/Runtimes.ts"
import { Store, type StoreFailed } from "../store/Store.ts"
import { AUTHENTICATED } from "./Guard.ts"

export const health = (config: EdgeConfig) =>
  HttpApiBuilder.group(
    EdgeApi,
    "health",
    Effect.fnUntraced(function* (handlers) {
      const containment = yield* Containment
      const instance = yield* EdgeInstance
      const hub = yield* HubLink
      const runs = yield* RunSupervisor
      const runtimes = yield* Runtimes
      const programs = yield* Programs
      const store = yield* Store

      const readiness = Effect.fnUntraced(function* () {
        const { instanceId, version, startedAt } = instance
        const request = yield* HttpServerRequest.HttpServerRequest
        const failing = store.failing()
        const disk = yield* diskOf(config.home)
        const file = yield* runtimes.config
        const roomy = disk === undefined || disk.freeBytes >= LOW_DISK_BYTES
        const sound = failing === undefined && file?.problem === undefined && roomy
        const status = sound ? "ok" : "degraded"
        if (request.headers[AUTHENTICATED] !== "yes") return { status, instanceId } satisfies EdgeReadiness
        return {
          status,
          instanceId,
          process: {
            version,
            pid: process.pid,
            node: process.version,
            uptimeMs: Math.round(performance.now() - startedAt)
          },
          runs: { live: runs.liveRuns(), queued: runs.queuedRuns() },
          store: storeReadiness(failing, disk),
          runtimes: yield* runtimes.readiness,
          workspaces: { count: config.workspaces.length },
          containment: { kind: containment.kind },
          link: hub.readiness(),
          git: yield* Effect.provideService(git, Programs, programs),
          ...(disk === undefined ? {} : { disk }),
          ...(file === undefined ? {} : { config: file })
        } satisfies EdgeReadiness
      })

      return handlers.handleAll({ health: readiness, v1Health: readiness })
    })
  )

/** The store's files lie where the disk was looked at. */
const storeReadiness = (
  failing: StoreFailed | undefined,
  disk: EdgeReadiness["disk"]
): NonNullable<EdgeReadiness["store"]> => ({
  status: failing === undefined ? "ok" : "degraded",
  engine: "sqlite",
  ...disk,
  ...(failing === undefined ? {} : { message: failing.message })
})
