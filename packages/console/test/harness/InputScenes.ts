/** Scenes of a thread: questions, a plan, steps, sub-agents, work in the background and an image, as a run's events tell them. */
import type { InputRequestId } from "@corral/domain/identity/Ids"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { ScriptedHub } from "./ScriptedHub.ts"

export const inputId = (nth: number): InputRequestId =>
  `inq_01KAH2T3J0Q4W8XN5M7C1B${String(nth).padStart(4, "0")}` as InputRequestId

export const asks = (request: RequestedInput, nth = 1, expiresAt?: string): EventDraft =>
  draft("run.input.requested", {
    inputId: inputId(nth),
    request,
    ...(expiresAt === undefined ? {} : { expiresAt })
  })

const call = (callId: string, tool: string, label: string, parentCallId?: string): EventDraft =>
  draft("run.tool.call", {
    callId,
    tool,
    label,
    input: {},
    status: "started",
    ...(parentCallId === undefined ? {} : { parentCallId })
  })

const result = (callId: string, tool: string, output: string, parentCallId?: string): EventDraft =>
  draft("run.tool.result", {
    callId,
    tool,
    status: "completed",
    output,
    ...(parentCallId === undefined ? {} : { parentCallId })
  })

export const saysText = (text: string, parentCallId?: string): EventDraft =>
  draft("run.message.completed", {
    messageId: `m ${text.slice(0, 20)}`,
    role: "assistant",
    channel: "text",
    text,
    ...(parentCallId === undefined ? {} : { parentCallId })
  })

export const calendarQuestion: RequestedInput = {
  kind: "question",
  title: "Which calendar should the shop follow for public holidays?",
  questions: [
    {
      id: "calendar",
      header: "Calendar",
      text: "Which calendar should the shop follow for public holidays?",
      kind: "choice",
      options: [
        {
          id: "0",
          label: "National holidays",
          description: "13 days, from the library that the page already uses."
        },
        {
          id: "1",
          label: "Regional holidays",
          description: "Also the days of the shop's own region. Needs one more dependency."
        },
        {
          id: "2",
          label: "A list in the repository",
          description: "No dependency. Someone has to update it each year."
        }
      ],
      allowsOther: true
    }
  ]
}

export const formQuestion: RequestedInput = {
  kind: "question",
  title: "Set up the release",
  questions: [
    {
      id: "channels",
      header: "Channels",
      text: "Where should the release be announced?",
      kind: "choice",
      multiple: true,
      allowsOther: true,
      options: [
        { id: "a", label: "Changelog" },
        { id: "b", label: "Newsletter", description: "Goes out at 9:00 the next day." },
        { id: "c", label: "Chat of the shop" }
      ]
    },
    {
      id: "lines",
      text: "How many lines may the text have?",
      kind: "number",
      integer: true,
      min: 1,
      max: 20
    },
    { id: "key", text: "API key of the newsletter", kind: "text", secret: true, required: false },
    { id: "draft", text: "Show a draft first?", kind: "boolean" }
  ],
  sealingKey: "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"
}

export const plan = `# Opening hours on public holidays

The shop opens at 10 and closes at 14 on public holidays. Nothing else changes.

## Steps

1. Add \`src/holidays.js\` with the dates of this year and the next.
   - The dates come from the national calendar.
   - A test fails in December if the next year is missing.
2. Use it in \`hoursOn(date)\`: holidays come before weekdays.
3. Show the reason on the page, in a line below the hours.

\`\`\`js
export const hoursOn = (date) => (isHoliday(date) ? holidays : weekdays)
\`\`\`

## Not part of this

Half days, such as 24 December.
`

export const planRequest: RequestedInput = {
  kind: "plan",
  title: "Opening hours on public holidays",
  plan
}

const steps = [
  "Read how hours are computed",
  "Write a failing test for holidays",
  "Add the list of holidays",
  "Use it in hoursOn",
  "Show the reason on the page",
  "Update the changelog"
]

const stepsAt = (current: number): EventDraft =>
  draft("run.steps.updated", {
    steps: steps.map((text, at) => ({
      id: String(at),
      text,
      state: at < current ? "completed" : at === current ? "in_progress" : "pending"
    }))
  })

const twoChildren: ReadonlyArray<EventDraft> = [
  saysText("I'll have two agents look at the code and at the tests at the same time."),
  call("t1", "Agent", "Delegate: Find where hours are used"),
  call("t2", "Agent", "Delegate: Read the tests"),
  call("c1", "Grep", "Search hoursOn", "t1"),
  result("c1", "Grep", "src/page.js:4\nsrc/hours.js:8", "t1"),
  call("c2", "Read", "Read test/hours.test.js", "t2"),
  result("c2", "Read", "test(...)", "t2"),
  saysText("`hoursOn` is used in two places: the page and the feed.", "t1"),
  call("c3", "Bash", "Run npm test -- --grep hours", "t2"),
  call("c4", "Read", "Read src/feed.js", "t1"),
  result("c4", "Read", "export const feed", "t1"),
  result("t1", "Agent", "hoursOn is used in src/page.js and src/feed.js.")
]

const background: ReadonlyArray<EventDraft> = [
  call("w1", "Bash", "Run npm run dev"),
  draft("run.work.started", { workId: "w1", kind: "command", title: "npm run dev" }),
  result("w1", "Bash", "Started in the background"),
  draft("run.work.started", { workId: "w2", kind: "command", title: "node --watch scripts/feed.js" }),
  saysText("The page runs on port 5173, and the feed is built again after each change."),
  draft("run.turn.ended", { turn: 1, outstanding: 2 } as never)
]

const chart = fileURLToPath(new URL("../pictures/chart.png", import.meta.url))

export const scenes: Readonly<Record<string, (hub: ScriptedHub) => void>> = {
  question: (hub) => {
    hub.run("On public holidays the shop opens at 10 and closes at 14. Please add that.")
    hub.push(
      saysText("I'll look at how the hours are computed first."),
      call("r1", "Read", "Read src/hours.js"),
      result("r1", "Read", "export const hoursOn"),
      call("r2", "Read", "Read src/page.js"),
      result("r2", "Read", "export const line"),
      asks(calendarQuestion)
    )
  },
  form: (hub) => {
    hub.run("Prepare the release of version 1.5.0.")
    hub.push(saysText("I need a few answers before I write the announcement."), asks(formQuestion))
  },
  answered: (hub) => {
    scenes["question"]?.(hub)
    hub.resolve(inputId(1), {
      state: "answered",
      answers: { calendar: "0" },
      origin: "console",
      answeredBy: "usr_01KAH2T3J0Q4W8XN5M7C1B0001"
    })
    hub.push(
      saysText("National holidays it is. I'll use the library of the page."),
      asks({ ...calendarQuestion, title: "Should the feed follow too?" }, 2)
    )
    hub.resolve(inputId(2), { state: "self_answered" })
  },
  plan: (hub) => {
    hub.run("Plan how the shop can show its hours on public holidays.", "plan")
    hub.push(saysText("Here is what I would do."), asks(planRequest))
  },
  link: (hub) => {
    hub.run("Publish the page.")
    hub.push(
      asks({
        kind: "link",
        title: "Sign in to the hosting service",
        url: "https://login.example.com/device?code=ABCD-1234"
      })
    )
  },
  steps: (hub) => {
    hub.run("On public holidays the shop opens at 10 and closes at 14. Please add that.")
    hub.push(
      stepsAt(0),
      saysText("I'll start with a failing test."),
      call("e1", "Edit", "Edit test/hours.test.js"),
      result("e1", "Edit", ""),
      stepsAt(3),
      draft("run.notice", { kind: "compacted", text: "The earlier conversation was summarized." }),
      call("e2", "Edit", "Edit src/hours.js")
    )
  },
  children: (hub) => {
    hub.run("Find out what depends on the opening hours.")
    hub.push(...twoChildren)
  },
  background: (hub) => {
    hub.run("Start the page and the feed so that I can try them.")
    hub.push(...background)
    hub.queued.push("Now change the port to 4000.")
  },
  team: (hub) => {
    hub.run("Add the hours of public holidays.")
    hub.push(call("b1", "Bash", "Run npm test -- --watch=false"))
    hub.team.push(
      {
        agent: { label: "Reviewer", mode: "auto_edit", model: "sonnet-5" },
        run: { state: "waiting_approval" },
        request: {
          action: "shell",
          title: "Run git push origin main",
          command: "git push origin main",
          risk: "high",
          editable: false,
          scopes: ["once"],
          tool: "Bash"
        }
      },
      {
        agent: { label: "Page server", model: "haiku-4" },
        run: { state: "running", turn: "idle", outstanding: { count: 1, titles: ["npm run dev"] } }
      },
      { agent: { label: "Translator", mode: "plan" }, run: { state: "completed" } },
      {
        agent: { label: "Fixer", held: { reason: "failed", since: "2026-11-28T10:00:00.000Z" } },
        run: { state: "failed" },
        queued: "Try it with the other library."
      },
      { agent: { label: "Mac builder", targetId: "dev_01KAH2T3J0Q4W8XN5M7C1B0002" } },
      { agent: { label: "Old assistant", agentId: "codex" }, run: { state: "cancelled" } },
      { agent: { label: "Guest", targetId: "dev_01KAH2T3J0Q4W8XN5M7C1B0009" }, run: { state: "running" } }
    )
  },
  image: (hub) => {
    const content = readFileSync(chart)
    hub.run("Draw how many visitors come on Sundays.")
    hub.push(call("r1", "Read", "Read visitors.csv"), result("r1", "Read", "hour,visitors"))
    for (const [nth, name] of ["visitors.png", "weekdays.png"].entries()) {
      const artifactId = `art_01KAH2T3J0Q4W8XN5M7C1B000${nth + 1}`
      hub.artifacts.set(artifactId, content)
      hub.push(
        call(`i${nth}`, "mcp__chart__draw", `Draw ${name.replace(".png", "")} by hour`),
        draft("run.artifact.ready", {
          artifactId,
          name,
          mediaType: "image/png",
          size: content.length,
          sha256: "0".repeat(64)
        } as never),
        draft("run.tool.result", {
          callId: `i${nth}`,
          tool: "mcp__chart__draw",
          status: "completed",
          content: [{ type: "image", artifactId, mediaType: "image/png", name }]
        } as never)
      )
    }
    hub.push(saysText("Most visitors come between 10 and 12."))
  }
}
