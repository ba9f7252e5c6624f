/** `docs/authorization.md`: who may call which endpoint of the Hub, from the data that the Hub is held to. */
import { auditActions } from "@corral/domain/access/AuditAction"
import { authorityMatrix } from "@corral/domain/access/Authorization"
import {
  callers,
  endpointAuthority,
  type EndpointName,
  keyScopeOf,
  refusalOf
} from "@corral/domain/hub-api/HubAuthorization"
import { errorTable } from "@corral/domain/errors/ErrorTable"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { HttpApi } from "effect/http-api"

const head = `# Authorization at the Hub

Generated from \`packages/domain/src/hub-api/HubAuthorization.ts\` by \`npm run generate\`. \`packages/hub/test/contract/Authorization.test.ts\` tests each
cell of the table with a running Hub.

A handler is authorized before it does any work. Actions require the proof of that check: a handler without a check does not compile. Missing and forbidden
resources are indistinguishable.

## Roles

Each role includes the permissions of the weaker ones.

| Action | Weakest role |
|---|---|
`

const roles = Object.entries(authorityMatrix)
  .flatMap(([action, row]) => ("role" in row ? [`| \`${action}\` | ${row.role} |`] : []))
  .join("\n")

const table = `
## Endpoints

The project is private. Its owner also owns the device, which is shared with the project, and the linked chat account. \`✓\` means that the request is
authorized. A token of another kind is a join token. The Gateway column is without a chat account: with one, the Gateway acts as the linked user, for chat
actions. A list is never refused: it contains what its caller can read. The last column is the scope that an API key needs; without one, the endpoint is closed to
keys or needs no sign-in.

| Request | Authority | ${callers.join(" | ")} | API key |
|---|---|${callers.map(() => "---|").join("")}---|
`

/** The closed list of what the audit records. */
const actions = `
## Audit actions

| Action | Recorded when someone tries to |
|---|---|
${Object.entries(auditActions)
  .map(([action, what]) => `| \`${action}\` | ${what} |`)
  .join("\n")}
`

/** Method, path and scope of keys of each endpoint. */
const served = (): ReadonlyMap<string, { readonly request: string; readonly scope: string }> => {
  const found = new Map<string, { readonly request: string; readonly scope: string }>()
  HttpApi.reflect(HubApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, group }) =>
      void found.set(`${group.identifier}.${endpoint.identifier}`, {
        request: `${endpoint.method} ${endpoint.path}`,
        scope: keyScopeOf(endpoint) ?? ""
      })
  })
  return found
}

const cell = (code: ReturnType<typeof refusalOf>): string =>
  code === undefined ? "✓" : `${errorTable[code].status} ${code}`

/** The page as Markdown. */
export const authorizationPage = (): string => {
  const requests = served()
  const rows = Object.entries(endpointAuthority).map(([name, authority]) => {
    const cells = callers.map((caller) => cell(refusalOf(name as EndpointName, caller)))
    const found = requests.get(name)
    return `| \`${found?.request}\` | \`${authority}\` | ${cells.join(" | ")} | ${found?.scope} |`
  })
  return `${head}${roles}\n${table}${rows.join("\n")}\n${actions}`
}
