/** The work of the matrix as a prompt of the scripted runtime. Tools wait for files, so that a test decides when they end. */
import type { AgentStep, AgentWork } from "./FaultProduct.ts"

/** File of the workspace with the effects, one a line. */
export const EFFECTS = "effects.txt"
const PIECES_PER_SECOND = 50
const PIECE_LENGTH = 40

/** File whose existence ends the tool. */
export const gateOf = (name: string): string => `${name}.released`

const toolOf = (name: string): string =>
  `/shell echo '${name} begins' >> ${EFFECTS}; until [ -e '${gateOf(name)}' ]; do sleep 0.05; done; ` +
  `echo '${name} ends' >> ${EFFECTS}`

const directives: { readonly [K in AgentStep["kind"]]: (step: Extract<AgentStep, { kind: K }>) => string } = {
  answer: ({ text }) => `/say ${text}`,
  stream: ({ pieces }) => `/stream ${pieces} ${PIECES_PER_SECOND} ${PIECE_LENGTH}`,
  effect: ({ name }) => `/shell echo '${name}' >> ${EFFECTS}`,
  tool: ({ name }) => toolOf(name),
  question: ({ options, text }) => `/question ${[text, ...options].join(" | ")}`,
  background: ({ name }) =>
    ["/work w1 agent Background", "/end-turn", toolOf(name), "/worked w1 completed continues", "/turn"].join(
      "\n"
    ),
  endless: () => "/wait",
  failure: ({ message }) => `/fail ${message}`
}

const directiveOf = <K extends AgentStep["kind"]>(step: Extract<AgentStep, { kind: K }>): string =>
  directives[step.kind as K](step)

export const promptOf = (work: AgentWork): string => work.map((step) => directiveOf(step)).join("\n")

/** Number of pieces of a stream in a text: each is a time and a filling. */
export const piecesIn = (text: string): number => text.match(/\d+ x+/g)?.length ?? 0
