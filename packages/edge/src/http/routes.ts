/**
 * All HTTP routes of the Edge, with what their middleware stands on. The guard has run before any of this.
 */
import { EdgeApi } from "@corral/domain/EdgeApi"
import { BearerAuthority, SchemaErrors } from "@corral/domain/RequestContext"
import { requestIds } from "@corral/service/http/RequestIdLayer"
import { Layer } from "effect"
import { HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { EdgeConfig } from "../EdgeConfig.ts"
import { agents } from "./Agents.ts"
import { diffs } from "./Diffs.ts"
import { artifacts } from "./Artifacts.ts"
import { files } from "./Files.ts"
import { grants } from "./Grants.ts"
import { health } from "./Health.ts"
import { link } from "./Link.ts"
import { permissions } from "./Permissions.ts"
import { previews } from "./Previews.ts"
import { runs } from "./Runs.ts"
import { workspaces } from "./Workspaces.ts"
import { worktrees } from "./Worktrees.ts"

/** The guard has compared the token; the declaration is for the contract's sake. */
const authority = Layer.succeed(BearerAuthority, { bearer: (handler) => handler })

export const routes = (config: EdgeConfig) =>
  HttpApiBuilder.layer(EdgeApi).pipe(
    Layer.provide([
      health(config),
      agents,
      workspaces,
      files,
      runs,
      diffs,
      worktrees,
      artifacts,
      previews,
      permissions,
      grants,
      link
    ]),
    Layer.provide([SchemaErrors.layer, requestIds, authority]),
    Layer.provide(HttpServer.layerServices)
  )
