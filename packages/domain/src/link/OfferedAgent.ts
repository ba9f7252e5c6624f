/**
 * Agents as an Edge offers them over the link. A Hub of an earlier version takes only the counts that it knew, so that an agent counts cost is a
 * separate field there, which it ignores.
 */
import { Schema, SchemaTransformation } from "effect"
import { Agent } from "../run/Agent.ts"

const SentAgent = Schema.Struct({ ...Agent.fields, countsCost: Schema.optionalKey(Schema.Literal(true)) })
type SentAgent = typeof SentAgent.Type

export const OfferedAgent: Schema.Codec<Agent, typeof SentAgent.Encoded> = SentAgent.pipe(
  Schema.decodeTo(
    Schema.toType(Agent),
    SchemaTransformation.transform({
      decode: ({ countsCost, ...agent }: SentAgent): Agent =>
        countsCost === true ? { ...agent, counts: [...(agent.counts ?? []), "cost"] } : agent,
      encode: (agent: Agent): SentAgent =>
        agent.counts?.includes("cost") === true
          ? { ...agent, counts: agent.counts.filter((counted) => counted !== "cost"), countsCost: true }
          : agent
    })
  )
)
