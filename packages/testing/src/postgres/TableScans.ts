/** Parts of a statement's plan that read a whole table. */
import type { Client } from "pg"
import type { LoggedStatement } from "./StatementLog.ts"

interface PlanNode {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Index Name"?: string
  readonly "Index Cond"?: string
  readonly Filter?: string
  readonly Plans?: ReadonlyArray<PlanNode>
}

interface Explained {
  readonly "QUERY PLAN": ReadonlyArray<{ readonly Plan: PlanNode }>
}

/** `bounded`: tables that stay small, and indexes of few rows. */
const scansOf = (node: PlanNode, bounded: ReadonlySet<string>, isLimited = false): ReadonlyArray<string> => {
  const type = node["Node Type"]
  const relation = node["Relation Name"] ?? ""
  const index = node["Index Name"] ?? ""
  // A few rows without a condition are read from the beginning.
  const isFew = isLimited && node.Filter === undefined
  const isScan = type === "Seq Scan" && !isFew && !relation.startsWith("pg_") && !bounded.has(relation)
  const isIndexScan =
    type.startsWith("Index") && node["Index Cond"] === undefined && !isLimited && !bounded.has(index)
  const below = (node.Plans ?? []).flatMap((child) => scansOf(child, bounded, isLimited || type === "Limit"))
  return isScan || isIndexScan ? [`${type} ${relation} ${index}`.trim(), ...below] : below
}

/** Indexes of a part of their table. */
export const partialIndexes = async (client: Client): Promise<ReadonlyArray<string>> => {
  const { rows } = await client.query<{ readonly name: string }>(
    "SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indpred IS NOT NULL"
  )
  return rows.map(({ name }) => name.replace(/^.*\./, ""))
}

/** The scans in the plan for the logged parameters. Executes nothing. */
export const tableScans = async (
  client: Client,
  { parameters, text }: LoggedStatement,
  bounded: ReadonlySet<string>
): Promise<ReadonlyArray<string>> => {
  if (parameters === undefined || parameters.length === 0) {
    const generic = await client.query<Explained>(
      `EXPLAIN (FORMAT JSON${parameters === undefined ? ", GENERIC_PLAN" : ""}) ${text}`
    )
    return scansOf(planIn(generic.rows), bounded)
  }
  await client.query(`PREPARE planned AS ${text}`)
  try {
    const planned = await client.query<Explained>(
      `EXPLAIN (FORMAT JSON) EXECUTE planned(${parameters.join(", ")})`
    )
    return scansOf(planIn(planned.rows), bounded)
  } finally {
    await client.query("DEALLOCATE planned")
  }
}

const planIn = ([row]: ReadonlyArray<Explained>): PlanNode => {
  const plan = row?.["QUERY PLAN"][0]
  if (plan === undefined) throw new Error("no plan")
  return plan.Plan
}
