/** `GET /health`, `GET /v1/health`: alive to anyone; what the Edge is made of to the token's holder. */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { statfs } from "node:fs/promises"
import type { EdgeReadiness } from "@corral/domain/Health"
import { Containment } from "../process/Containment.ts"
import type { EdgeConfig } from "../EdgeConfig.ts"
import { EdgeInstance } from "../EdgeInstance.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { Runtimes } from "../runtime/Runtimes.ts"
import { Store } from "../store/Store.ts"
import { AUTHENTICATED } from "./Guard.ts"
import { ServedApi } from "./ServedApi.ts"

export const health = (config: EdgeConfig) =>
  HttpApiBuilder.group(
    ServedApi,
    "health",
    Effect.fnUntraced(function* (handlers) {
      const containment = yield* Containment
      const instance = yield* EdgeInstance
      const runs = yield* RunSupervisor
      const runtimes = yield* Runtimes
      const store = yield* Store

      const storeReadiness = Effect.gen(function* () {
        const failing = store.failing()
        const disk = yield* Effect.option(Effect.tryPromise(() => statfs(config.home)))
        return {
          status: failing === undefined ? "ok" : "degraded",
          engine: "sqlite",
          ...(disk._tag === "Some" ? { freeBytes: disk.value.bavail * disk.value.bsize } : {}),
          ...(failing === undefined ? {} : { message: failing.message })
        } satisfies EdgeReadiness["store"]
      })

      const readiness = Effect.fnUntraced(function* () {
        const { instanceId, version, startedAt } = instance
        const request = yield* HttpServerRequest.HttpServerRequest
        const status = store.failing() === undefined ? "ok" : "degraded"
        if (request.headers[AUTHENTICATED] !== "yes") return { status, instanceId } satisfies EdgeReadiness
        const found = yield* runtimes.list
        return {
          status,
          instanceId,
          process: {
            version,
            pid: process.pid,
            node: process.version,
            uptimeMs: Math.round(performance.now() - startedAt),
            runs: runs.liveRuns()
          },
          store: yield* storeReadiness,
          runtimes: found.map(({ id, label, available, version, reason, hint }) => ({
            id,
            label,
            installed: available,
            ...(version === undefined ? {} : { version }),
            ...(reason === undefined ? {} : { reason }),
            ...(hint === undefined ? {} : { hint })
          })),
          workspaces: { count: config.workspaces.length },
          containment: { kind: containment.kind }
        } satisfies EdgeReadiness
      })

      return handlers.handleAll({ health: readiness, v1Health: readiness })
    })
  )
