/**
 * The real programs ask, plan and inform people, behind an Edge: the model receives the answer of a person, or none. What a program does not
 * offer its model is skipped, and says so.
 */
import type { InputAnswer, RequestedInput } from "@corral/domain/input/InputRequest"
import { assert, describe, it } from "@effect/vitest"
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type DrivenAgent, driveEach, endingOf, payloadsOf } from "./DrivenAgents.ts"
import { COLOURS } from "./Script.ts"
import type { Played } from "./Stage.ts"

const [, chosen] = COLOURS
const serverFile = fileURLToPath(new URL("AskingServer.ts", import.meta.url))

/** How often each option stands in what the model received last. */
const optionCounts = ({ modelRequests }: Played): ReadonlyArray<number> =>
  COLOURS.map((colour) => (modelRequests.at(-1) ?? "").split(colour).length - 1)

/** Answers a question with the second colour. A note that it also asks for stays empty. */
const choose = ({ questions = [] }: RequestedInput): InputAnswer => ({
  answers: Object.fromEntries(
    questions
      .filter(({ kind }) => kind === "choice")
      .map(({ id, options = [] }) => [
        id,
        options.find(({ label }) => label.includes(chosen))?.id ?? { other: chosen }
      ])
  )
})

/** Answers every question of a form with the same text. */
const fill = ({ questions = [] }: RequestedInput): InputAnswer => ({
  answers: Object.fromEntries(questions.map(({ id }) => [id, "release-7"]))
})

const decline = (): InputAnswer => ({ decline: true })

/** The state in which the only question of a run ended. */
const stateOf = ({ events }: Played): unknown => {
  const resolved = payloadsOf(events, "run.input.resolved")
  assert.lengthOf(resolved, 1, "one question for a person")
  return resolved[0]?.["state"]
}

/** What the server received from the program. Requests quote it. */
const serverReceived = ({ modelRequests }: Played): string =>
  /The user answered: (.{0,200})/.exec((modelRequests.at(-1) ?? "").replaceAll("\\", ""))?.[1] ?? "nothing"

const assertCompleted = (played: Played): void =>
  assert.strictEqual(played.end.type, "run.completed", endingOf(played))

await driveEach(
  (agent: DrivenAgent) => {
    const { adapter, agentId, modes } = agent

    describe.each(modes)("in %s", (mode) => {
      it("gives the model the answer of a person", async () => {
        const played = await agent.play("ask", "Which colour do you want?", mode, choose)
        if (played === undefined) return
        assertCompleted(played)
        const [first = 0, second = 0] = optionCounts(played)
        assert.strictEqual(stateOf(played), "answered")
        assert.deepStrictEqual(played.requests, [], "and no approval")
        assert.isAbove(second, first, "the model received the chosen option, and not the other one")
        assert.deepInclude(payloadsOf(played.events, "run.input.resolved")[0], { by: "local" })
        agent.note(`ask in ${mode}`, "the model received the answer")
      })

      it("gives the model no option where no person has answered", async () => {
        const played = await agent.play("ask", "Which colour do you want?", mode)
        if (played === undefined) return
        const [first, second] = optionCounts(played)
        assert.strictEqual(first, second, "an option was chosen")
        assert.strictEqual(stateOf(played), "declined")
        agent.note(`ask unanswered in ${mode}`, endingOf(played))
      })

      it.each(["answered", "declined"] as const)(
        "waits with a question that ended the turn: %s",
        async (state) => {
          const answer = state === "answered" ? choose : decline
          const played = await agent.play("leave", "Which colour do you want?", mode, answer)
          if (played === undefined) return
          assertCompleted(played)
          assert.strictEqual(stateOf(played), state)
          assert.lengthOf(played.questions[0]?.questions ?? [], 2, "both questions")
          const [first = 0, second = 0] = optionCounts(played)
          // Both are answered with this text.
          assert.strictEqual(second - first, state === "answered" ? 2 : 0)
          const turns = payloadsOf(played.events, "run.turn.started")
          assert.deepStrictEqual(
            turns.map(({ by }) => by),
            state === "answered" ? ["message"] : []
          )
          agent.note(`leave ${state} in ${mode}`, endingOf(played))
        }
      )

      it.each([
        ["form", fill, "accept"],
        ["form", decline, "decline"],
        ["link", () => ({ answers: {} }), "accept"],
        ["link", decline, "decline"]
      ] as const)("gives a server what a person answered: %s, %o", async (act, answer, action) => {
        const played = await agent.play(act, "it", mode, answer)
        if (played === undefined) return
        const received = serverReceived(played)
        agent.note(
          `${act} ${action} in ${mode}`,
          `${endingOf(played)}, ${played.questions.length} asked, ${received}`
        )
        assertCompleted(played)
        if (played.questions.length === 0)
          return assert.notInclude(received, '"accept"', "no person answered")
        assert.strictEqual(played.questions[0]?.kind, act === "form" ? "question" : "link")
        assert.include(received, `"${action}"`)
        if (act === "form" && action === "accept") assert.include(received, "release-7")
      })

      // Gemini CLI names its list without its content.
      it.skipIf(agentId === "gemini-acp")(
        "shows the steps of the agent, and asks for none of them",
        async () => {
          const played = await agent.play("steps", "thing", mode)
          if (played === undefined) return
          assert.deepStrictEqual(played.requests, [])
          const lists = payloadsOf(played.events, "run.steps.updated")
          assert.isAbove(lists.length, 0)
          assert.include(JSON.stringify(lists.at(-1)), "First thing")
          agent.note(`steps in ${mode}`, `${lists.length} lists`)
        }
      )
    })

    it.runIf(adapter.capabilities.readOnly).each([
      ["approved", { approve: true }],
      ["sent back", { approve: false, comment: "Shorter please" }]
    ] as const)("hands its plan to a person: %s", async (what, answer) => {
      // Without a mode, the work follows in ask, in which not every agent runs.
      const [first = "full_access"] = modes
      const mode = answer.approve && !modes.includes("ask") ? { mode: first } : {}
      const played = await agent.play("plan", "First this and then that", "plan", () => ({
        ...answer,
        ...mode
      }))
      if (played === undefined) return
      const plans = played.questions.filter(({ kind }) => kind === "plan")
      agent.note(`plan ${what}`, `${endingOf(played)}, ${plans.length} plans, ${played.end.payload["text"]}`)
      assertCompleted(played)
      assert.lengthOf(plans, 1, "one plan for a person")
      assert.include(plans[0]?.plan, "First this and then that")
      if (!answer.approve) assert.include(played.modelRequests.at(-1), answer.comment)
    })
  },
  ({ place }) =>
    ({ workspace }, home) => {
      // In the workspace, which a confined run sees.
      const file = join(workspace, "asking.ts")
      copyFileSync(serverFile, file)
      place.program.extend?.(home, { command: process.execPath, args: [file] })
    }
)
