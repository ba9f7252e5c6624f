/** Edges in this process, each with its own layers: two that are built with the same layers would be one. */
import type { CreateRun, Run } from "@corral/domain/run/Run"
import { Context, Effect, Layer, Stream } from "effect"
import { EdgeConfig } from "../src/config/EdgeConfig.ts"
import { edgeCoreLayer } from "../src/Edge.ts"
import { EdgeEventLog } from "../src/log/EdgeEventLog.ts"
import { runLines } from "../src/log/EdgeLogSource.ts"
import { RunSupervisor } from "../src/run/RunSupervisor.ts"
import { EdgeStorage } from "../src/store/EdgeStorage.ts"
import { Store } from "../src/store/Store.ts"

/** For tests where the disk is not the point. */
export const inMemory = Layer.succeed(EdgeStorage, Store.layerMemory)

/** An Edge without a server, until the scope closes. `parts` replace its defaults. */
export const startEdge = <E = never>(config: EdgeConfig, parts: Layer.Layer<never, E> = inMemory) =>
  Layer.build(
    Layer.fresh(edgeCoreLayer).pipe(Layer.provide(Layer.succeed(EdgeConfig, config)), Layer.provide(parts))
  )

type Services = Effect.Success<ReturnType<typeof startEdge>>

const requestOf = (text: string, more: Partial<CreateRun>): CreateRun =>
  // The literals are valid ids.
  ({ workspace: "here", agentId: "scripted", mode: "ask", input: { text }, ...more }) as CreateRun

/** Starts a run of the scripted runtime. */
export const startRun = (services: Services, text: string, more: Partial<CreateRun> = {}) =>
  Context.get(services, RunSupervisor).start(requestOf(text, more))

/** Every line of a run's log, once the run has ended. */
export const linesOf = (services: Services, { id }: Run) =>
  Effect.map(Stream.runCollect(runLines(Context.get(services, EdgeEventLog), id, 0)), (batches) =>
    batches.flat()
  )
