/**
 * Work of sub-agents, sorted to the calls that started them. Pure.
 *
 * Guarantees: each part is in exactly one list, in its order. A part whose call is not there, or began later, belongs to the agent itself.
 */
import type { ActionPart, WorkPart } from "./WorkPart.ts"

export interface NestedWork {
  /** What the agent itself did. */
  readonly roots: ReadonlyArray<WorkPart>
  /** What the sub-agent of a call did, by the `seq` of the call's part. */
  readonly children: ReadonlyMap<number, ReadonlyArray<WorkPart>>
}

const parentOfAction = ({ approvals, files, patches, tool }: ActionPart): string | undefined =>
  tool?.parentCallId ??
  approvals[0]?.request.parentCallId ??
  patches[0]?.parentCallId ??
  files[0]?.parentCallId

/** The call whose sub-agent did the part. */
export const parentCallOf = (part: WorkPart): string | undefined => {
  if (part.kind === "action") return parentOfAction(part)
  return "parentCallId" in part.block ? part.block.parentCallId : undefined
}

export const nestedWork = (parts: ReadonlyArray<WorkPart>): NestedWork => {
  const roots: Array<WorkPart> = []
  const children = new Map<number, Array<WorkPart>>()
  // The first part of each call. A part can only belong to an earlier one, so no part belongs to itself.
  const partOfCall = new Map<string, number>()
  for (const part of parts) {
    const parent = parentCallOf(part)
    const place = parent === undefined ? undefined : partOfCall.get(parent)
    const siblings = place === undefined ? undefined : children.get(place)
    if (place === undefined) roots.push(part)
    else if (siblings === undefined) children.set(place, [part])
    else siblings.push(part)
    if (part.kind === "action" && part.tool !== undefined && !partOfCall.has(part.tool.callId))
      partOfCall.set(part.tool.callId, part.seq)
  }
  return { roots, children }
}
