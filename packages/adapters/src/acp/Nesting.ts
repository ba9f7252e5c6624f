/** Nesting: the call of the sub-agent that a report belongs to, from the agents' own fields in `_meta`. */
import { isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import type { NestingMeta } from "./AcpExtensions.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

const parentField = ({ parentToolCallId, parentToolUseId }: UnverifiedFields<NestingMeta>) =>
  textOf(parentToolUseId) ?? textOf(parentToolCallId)

/** The parent's id in `_meta`, or in an agent's own part of it; `undefined` for the agent itself. */
export const parentCallIn = (meta: unknown): string | undefined => {
  if (!isJsonObject(meta)) return undefined
  const direct = parentField(meta)
  if (direct !== undefined) return direct
  for (const ofAgent of Object.values(meta)) {
    const parent = isJsonObject(ofAgent) ? parentField(ofAgent) : undefined
    if (parent !== undefined) return parent
  }
  return undefined
}

/** A report with the call of its sub-agent, if its session is one of a sub-agent. */
export const nestedIn = (report: JsonObject, parentCallId: string | undefined): JsonObject =>
  parentCallId === undefined
    ? report
    : { ...report, _meta: { ...objectOf(report["_meta"]), parentToolUseId: parentCallId } }
