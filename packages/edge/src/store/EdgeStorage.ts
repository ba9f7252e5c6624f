/**
 * Layer of the store that an Edge opens: `edge.db` in its home by default, or `Store.layerMemory`. Replaceable.
 *
 * A layer and not the store: the Edge opens it after its checks, and closes it after its last run.
 */
import { Context, type Layer } from "effect"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { Store, type StoreFailed } from "./Store.ts"

export const EdgeStorage = Context.Reference<Layer.Layer<Store, StoreFailed, EdgeConfig>>(
  "corral/edge/EdgeStorage",
  { defaultValue: () => Store.layerHome }
)
