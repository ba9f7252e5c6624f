/**
 * A Hub in the process of its tests: the layer that `node dist/hub` runs, with its own home, database, port and log. For tests of the Hub's
 * behaviour over HTTP; starting a process costs most of a second of CPU time, and its code is never warm.
 */
import { HubConfig } from "@corral/hub/config/HubConfig"
import * as Hub from "@corral/hub/Hub"
import { HubServer } from "@corral/hub/http/Server"
import { readHubConfig } from "@corral/hub/HubSettings"
import { onTestFinished } from "@effect/vitest"
import { Context, Layer } from "effect"
import { runLayer } from "../process/LayerInProcess.ts"
import { type HubOptions, HubProcess, type LaunchedHub } from "./HubProcess.ts"

export class HubInProcess extends HubProcess {
  protected override launch(): LaunchedHub {
    return runLayer(
      Layer.provide(Hub.hubLayer, Layer.effect(HubConfig, readHubConfig(this.environment))),
      (context) => ({ url: Context.get(context, HubServer).url }),
      (line) => (this.stderr += `${line}\n`)
    )
  }
}

/** A Hub in this process for one test. */
export const openHubInProcess = async (options?: HubOptions): Promise<HubInProcess> => {
  const hub = new HubInProcess(options)
  onTestFinished(() => hub.remove())
  await hub.start()
  return hub
}
