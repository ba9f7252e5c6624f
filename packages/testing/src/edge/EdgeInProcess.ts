/**
 * An Edge in the process of its tests: the layer that `node dist/edge` runs, with its own home, workspace, port and log. For tests of the
 * Edge's behaviour over HTTP; starting a process costs half a second of CPU time, and its code is never warm.
 *
 * Its end kills the processes of its runs first, so that no run delays it.
 */
import { EdgeConfig } from "@corral/edge/config/EdgeConfig"
import * as Edge from "@corral/edge/Edge"
import { EdgeServer } from "@corral/edge/http/Server"
import { readEdgeConfig } from "@corral/edge/EdgeSettings"
import { onTestFinished } from "@effect/vitest"
import { Context, Layer } from "effect"
import { runLayer } from "../process/LayerInProcess.ts"
import { type EdgeOptions, EdgeProcess, type LaunchedEdge } from "./EdgeProcess.ts"
import { endAll } from "./Survivors.ts"

export class EdgeInProcess extends EdgeProcess {
  /** Replaced parts of the Edge. */
  protected get parts(): Layer.Layer<never> {
    return Layer.empty
  }

  protected override launch(): LaunchedEdge {
    return runLayer(
      Edge.edgeLayer.pipe(
        Layer.provide(Layer.effect(EdgeConfig, readEdgeConfig(this.environment))),
        Layer.provide(this.parts)
      ),
      (context) => ({ url: Context.get(context, EdgeServer).url }),
      (line) => (this.stderr += `${line}\n`)
    )
  }

  protected override end(): Promise<unknown> {
    endAll(this.survivors())
    return this.stop()
  }
}

/** An Edge in this process for one test. */
export const openEdgeInProcess = async (options: EdgeOptions = {}): Promise<EdgeInProcess> => {
  const edge = new EdgeInProcess(options)
  onTestFinished(() => edge.remove())
  await edge.start()
  return edge
}
