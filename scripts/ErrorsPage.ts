/** `docs/errors.md`: the error table as Markdown. */
import {
  errorCodes,
  errorTable,
  responses,
  retryAfterSeconds,
  type ErrorCode
} from "@corral/domain/errors/ErrorTable"
import { Schema } from "effect"
import { isJsonObject } from "@corral/domain/text/JsonObject"

/** Names of the fields of `details`, where this code has a fixed shape for it. */
const details = (code: ErrorCode): string => {
  const [response] = responses(code)
  if (response === undefined) throw new Error(`${code} has no response schema`)
  const { schema, definitions } = Schema.toJsonSchemaDocument(response)
  const body = definitions[`Error_${code}`] ?? schema
  const properties =
    isJsonObject(body) && isJsonObject(body["properties"]) ? body["properties"]["details"] : undefined
  if (!isJsonObject(properties) || !isJsonObject(properties["properties"])) return ""
  const required = Array.isArray(properties["required"]) ? properties["required"] : []
  return Object.keys(properties["properties"])
    .map((name) => `\`${name}\`${required.includes(name) ? "" : " (optional)"}`)
    .join(", ")
}

const row = (code: ErrorCode): string => {
  const { status, message } = errorTable[code]
  return `| \`${code}\` | ${status} | ${message} | ${retryAfterSeconds[code] ?? ""} | ${details(code)} |`
}

const head = `# Errors

Generated from \`packages/domain/src/errors/ErrorTable.ts\` by \`npm run generate\`.

Every error response has this body:

\`\`\`json
{ "code": "not_found", "message": "This resource does not exist, or you may not see it.", "requestId": "req_01KAH2T3J0Q4W8XN5M7C1B9D6B" }
\`\`\`

- \`code\` is stable. Programs branch on it.
- \`message\` is for people. It may be more specific than the sentence in the table.
- \`requestId\` equals the response header \`X-Request-Id\`. Send your own in the request header of that name
  (1 to 128 characters of \`A-Z a-z 0-9 . _ -\`); any other is replaced.
- Some codes have \`details\`. The last column lists its fields if they are fixed; other codes can have any object
  that the caller can see. Issues of \`schema_validation_failed\` contain the field and the expected value, never the
  value that was sent.

\`Retry-After\` is the header in seconds, for requests that can succeed later. A WebSocket is refused before the upgrade, with
the same body. \`replay_gap\` is not in the table: it is the close code 4410 of a stream whose events were deleted.

| Code | Status | Sentence | Retry-After | Fields of \`details\` |
|---|---|---|---|---|
`

/** The page as Markdown. */
export const errorsPage = (): string => `${head}${errorCodes.map(row).join("\n")}\n`
