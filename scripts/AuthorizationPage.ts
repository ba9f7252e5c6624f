/** `docs/authorization.md`: who may call which endpoint of the Hub, from the data that the Hub is held to. */
import { auditActions } from "@corral/domain/access/AuditAction"
import { matrix } from "@corral/domain/access/Authorization"
import {
  callers,
  endpointAuthority,
  type EndpointName,
  refusalOf
} from "@corral/domain/hub-api/HubAuthorization"
import { errorTable } from "@corral/domain/errors/ErrorTable"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { HttpApi } from "effect/http-api"

const head = `# Authorization at the Hub

Generated from \`packages/domain/src/hub-api/HubAuthorization.ts\` by \`npm run generate\`. \`packages/hub/test/contract/Authorization.test.ts\` asks a running
Hub each cell of the table.

A check happens before a handler starts work, and what acts takes the proof of it: a handler that forgets its check does not compile. What a
caller may not read and what is not there have the same answer.

## Roles

Each may do what the ones before it may.

| Action | Weakest role |
|---|---|
`

const roles = Object.entries(matrix)
  .flatMap(([action, row]) => ("role" in row ? [`| \`${action}\` | ${row.role} |`] : []))
  .join("\n")

const table = `
## Endpoints

The project is private; its owner is also the device's, which is shared with the project, and the linked chat account's. \`✓\`: not refused for want of
authority. A token of another kind is a join token. A Gateway names no chat account here: with one it is whom that is linked to, for what is
done from a chat. A list is never refused: it shows what its caller may read.

| Request | Authority | ${callers.join(" | ")} |
|---|---|${callers.map(() => "---|").join("")}
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

const served = (): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  HttpApi.reflect(HubApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, group }) =>
      void found.set(`${group.identifier}.${endpoint.identifier}`, `${endpoint.method} ${endpoint.path}`)
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
    return `| \`${requests.get(name)}\` | \`${authority}\` | ${cells.join(" | ")} |`
  })
  return `${head}${roles}\n${table}${rows.join("\n")}\n${actions}`
}
