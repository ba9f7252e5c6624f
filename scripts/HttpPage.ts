/** `docs/http.md`: every endpoint of the three services on one page, from the same contracts as `openapi/`. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { GatewayApi } from "@corral/domain/gateway-api/GatewayApi"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { endpointAuthority } from "@corral/domain/hub-api/HubAuthorization"
import { OpenApi } from "effect/http-api"
import { isJsonObject } from "@corral/domain/text/JsonObject"

const head = `# HTTP

Generated from \`packages/domain\` by \`npm run generate\`. This page lists every endpoint of the three services. [\`openapi/\`](../openapi) has all
fields, [errors](errors.md) the error responses, and [events](events.md) the content of streams.

- Each service serves its documents at \`/openapi.json\` and \`/asyncapi.json\`: an Edge with the token, a Hub and a Gateway to everyone. Hub and Gateway also serve
  \`/robots.txt\`, \`/llms.txt\`, and \`/.well-known/security.txt\` if \`CORRAL_SECURITY_CONTACT\` is set.
- Bodies are JSON. A list has \`items\` and \`nextCursor\`, which is the \`cursor\` of the next page.
- **Takes** lists the query, then the body (as **a schema** in \`openapi/\`, or by its fields) and the headers. Names with \`?\` are optional.
- **Refuses with** omits \`schema_validation_failed\`, which every endpoint can return, and \`unauthorized\`, which every endpoint with a token can return.
`

/** All names in a part of the contract that begin with this. */
const named = (part: unknown, start: string): ReadonlyArray<string> => {
  const pattern = new RegExp(`"#/components/schemas/${start}([A-Za-z_]+)"`, "g")
  return [...new Set([...(JSON.stringify(part) ?? "").matchAll(pattern)].map(([, name = ""]) => name))]
}

const code = (name: string): string => `\`${name}\``

type Operation = OpenApi.OpenAPISpecOperation

/** A body by its name; one that has none by its fields. */
const bodyOf = (body: unknown): string => {
  const [name] = named(body, "")
  if (name !== undefined) return `**${name}**`
  const fields = /"properties":(\{.*\}),"required":(\[[^\]]*\])/.exec(JSON.stringify(body) ?? "")
  const required: ReadonlyArray<string> = fields === null ? [] : JSON.parse(fields[2] ?? "[]")
  const all = fields === null ? [] : Object.keys(JSON.parse(fields[1] ?? "{}"))
  return all.map((field) => `**${field}${required.includes(field) ? "" : "?"}**`).join(" ")
}

const taken = ({ parameters, requestBody }: Operation): string => {
  const among = (place: string) =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, required }) => code(`${name}${required ? "" : "?"}`))
  const body = requestBody === undefined ? [] : [bodyOf(requestBody)]
  return [...among("query"), ...body, ...among("header")].join(", ")
}

const answered = ({ responses }: Operation): string =>
  Object.entries(responses)
    .filter(([status]) => Number(status) < 400)
    .map(([status, response]) => {
      const [name] = named(response, "")
      const list = JSON.stringify(response).includes('"nextCursor"')
      return [status, ...(name === undefined ? [] : [list ? `list of ${name}` : name])].join(" ")
    })
    .join(", ")

const toldByAll = new Set(["schema_validation_failed", "unauthorized"])

const refused = ({ responses }: Operation): string =>
  named(responses, "Error_")
    .filter((name) => !toldByAll.has(name))
    .map(code)
    .join(", ")

/** What the Hub is held to. */
const authorityAtHub = ({ operationId }: Operation): string => {
  const authorities: Readonly<Record<string, string>> = endpointAuthority
  return code(authorities[operationId] ?? "public.read")
}

const section = (
  title: string,
  about: string,
  spec: OpenApi.OpenAPISpec,
  authority: typeof authorityAtHub
) => {
  const operations = Object.entries(spec.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      request: `${method.toUpperCase()} ${path}`,
      operation: operation as Operation
    }))
  )
  const groups = spec.tags.map(({ name }) => {
    const rows = operations
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ operation, request }) => {
        const description = operation.description === undefined ? "" : `<br>${operation.description}`
        const cells = [authority(operation), taken(operation), answered(operation), refused(operation)]
        return `| ${code(request)}${description} | ${cells.join(" | ")} |`
      })
    return `### ${title}: ${name}\n\n| Request | Who | Takes | Answers | Refuses with |\n|---|---|---|---|---|\n${rows.join("\n")}\n`
  })
  return `\n## ${title}\n\n${about}\n\n${isJsonObject(spec.info) ? spec.info.description : ""}\n\n${groups.join("\n")}`
}

/** The page as Markdown. */
export const httpPage = (): string =>
  [
    head,
    section(
      "Hub",
      "**Who** is the authority of [authorization](authorization.md): a cookie of the console, or a token.",
      OpenApi.fromApi(HubApi),
      authorityAtHub
    ),
    section(
      "Edge",
      "On loopback only. The token is in `edge.token` of the Edge's home.",
      OpenApi.fromApi(EdgeApi),
      ({ security }) => (security.length === 0 ? "everyone" : "the token")
    ),
    section(
      "Gateway",
      "A signature authenticates requests of platforms.",
      OpenApi.fromApi(GatewayApi),
      ({ operationId }) => (operationId.startsWith("health.") ? "everyone" : "the platform, by signature")
    )
  ].join("")
