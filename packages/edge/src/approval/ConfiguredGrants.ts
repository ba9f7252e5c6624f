/** Grants of the configuration: for a workspace, and of an agent. */
import type { GrantRule } from "@corral/domain/approval/Grant"
import type { NamedGrant, WorkspaceEntry } from "../config/WorkspaceEntries.ts"
import { unusableReason } from "./GrantRules.ts"

export type ConfiguredGrant = NamedGrant | GrantRule

export const rulesOf = (grants: ReadonlyArray<ConfiguredGrant>): ReadonlyArray<GrantRule> =>
  grants.filter((grant) => typeof grant !== "string")

/** Reason to reject grants that would allow too much. */
export const unusableGrant = (entries: ReadonlyArray<WorkspaceEntry>): string | undefined =>
  entries.flatMap(({ grants = [] }) => rulesOf(grants)).flatMap((rule) => unusableReason(rule) ?? [])[0]
