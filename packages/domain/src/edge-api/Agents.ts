/** Agents and runners that an Edge offers. */
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { Agent, Runner } from "../run/Agent.ts"

export class EdgeAgents extends HttpApiGroup.make("agents")
  .add(
    HttpApiEndpoint.get("list", "/v1/agents", { success: page(Agent) }),
    HttpApiEndpoint.get("listRunners", "/v1/runners", { success: page(Runner) })
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
