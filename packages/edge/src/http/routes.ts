/**
 * All HTTP routes of the Edge, with their middleware: authentication, request ids, validation.
 *
 * Does not: include the guard of the Edge's own server. Another server that mounts the routes also has to refuse foreign origins and names.
 */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { SchemaErrors } from "@corral/domain/http/RequestContext"
import { requestIds } from "@corral/service/http/RequestIdLayer"
import { Layer } from "effect"
import { HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { agents } from "./Agents.ts"
import { authority } from "./Authority.ts"
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
