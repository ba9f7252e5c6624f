/**
 * A conversation in a layer whose hunks are accepted, rejected and left open after each turn. Follows what the workspace and the layer should
 * contain, and checks both after each turn and each decision.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { EarlierDecision } from "@corral/domain/changes/EarlierDecision"
import type { RunId } from "@corral/domain/identity/Ids"
import { assert } from "@effect/vitest"
import { earlierDecision, LayerChanges } from "./LayerChanges.ts"
import {
  BUILT,
  COMMITTED,
  hunkKey,
  IGNORED,
  LineFiles,
  type LinePlace,
  repositoryOf,
  UNCOMMITTED
} from "./LayerWorkspace.ts"
import { commitAll } from "../workspace/Repository.ts"
import { promptFor, reworkOf } from "./Script.ts"
import type { Played, Stage } from "./Stage.ts"

const allow = () => "allow" as const

const assertCompleted = ({ end }: Played): void =>
  assert.strictEqual(end.type, "run.completed", JSON.stringify(end.payload))

const payloadsOf = ({ events }: Played, type: string) =>
  events.filter((event) => event.type === type).map(({ payload }) => payload)

/** Who decided each write and each command of the run, in order. */
const decidedBy = (played: Played): ReadonlyArray<string> => {
  const resolved = payloadsOf(played, "run.approval.resolved")
  return payloadsOf(played, "run.approval.requested").flatMap(({ approvalId, request }) => {
    // The log's schema is judged when the run has ended.
    const { action } = request as ApprovalRequest
    const by = String(resolved.find((each) => each["approvalId"] === approvalId)?.["by"])
    // Programs connect for themselves too, such as for updates.
    return action === "network" ? [] : [`${action} by ${by}`]
  })
}

/** Lines of the one file that the program edits with its tool, and of the other one that a command edits. */
export interface LayerTurn {
  readonly tool: ReadonlyArray<number>
  readonly shell: ReadonlyArray<number>
  /** After everything else. */
  readonly command?: string
}

/** Which of the edited lines a person accepts and rejects. The others stay open. */
export interface LayerDecision {
  readonly accept: ReadonlyArray<LinePlace>
  readonly reject: ReadonlyArray<LinePlace>
  readonly comment: string
}

export const inTool = (line: number): LinePlace => ({ file: COMMITTED, line })
export const inShell = (line: number): LinePlace => ({ file: UNCOMMITTED, line })

/** What the program asks a person: `commands` not if it never asks. */
export interface ProgramQuestions {
  readonly reads: boolean
  readonly commands: boolean
}

export class LayerConversation {
  readonly changes: LayerChanges
  private readonly stage: Stage
  private readonly questions: ProgramQuestions
  private repository: ReadonlyArray<string>
  private readonly workspace = new LineFiles()
  private readonly layer = new LineFiles()
  private readonly built = [BUILT]
  private turn = 0
  private runId: RunId | undefined
  /** What the next run hears. */
  private decisions: ReadonlyArray<EarlierDecision> = []
  private note: ReadonlyArray<string> = []

  constructor(stage: Stage, questions: ProgramQuestions) {
    this.stage = stage
    this.questions = questions
    this.changes = new LayerChanges(stage)
    this.repository = repositoryOf(stage.edge.workspace)
  }

  get newest(): RunId {
    return this.runId ?? assert.fail("no turn was played")
  }

  /** Replaces the lines, and gives the prompt for it. */
  private edit({ command, shell, tool }: LayerTurn): string {
    this.turn++
    const text = `changed in turn ${this.turn}`
    const edits = tool.map((line) => {
      const old = this.layer.get(inTool(line))
      return { file: COMMITTED, old, new: `${old}, ${text}` }
    })
    for (const place of [...tool.map(inTool), ...shell.map(inShell)])
      this.layer.set(place, `${this.layer.get(place)}, ${text}`)
    this.built.push(`turn ${this.turn}`)
    const commands = [
      `sed -i ${shell.map((line) => `-e '${line}s/$/, ${text}/'`).join(" ")} ${UNCOMMITTED}`,
      `echo turn ${this.turn} >> ${IGNORED}`,
      ...(command === undefined ? [] : [command]),
      `cat ${IGNORED}`,
      `sha256sum ${COMMITTED} ${UNCOMMITTED}`
    ]
    return promptFor("rework", reworkOf({ read: COMMITTED }, ...edits, { command: commands.join(" && ") }))
  }

  /** Plays a turn, which hears of all decisions since the last one. */
  private async play(prompt: string): Promise<Played> {
    const { runId } = this
    const next = runId === undefined ? { isolation: "overlay" as const } : { resume: runId }
    const played = await this.stage.play(prompt, allow, "ask", next)
    assertCompleted(played)
    this.runId = played.runId
    assert.deepStrictEqual(payloadsOf(played, "run.created")[0]?.["decided"] ?? [], this.decisions)
    for (const line of this.note) assert.include(played.modelRequests[0], line)
    this.decisions = []
    this.note = []
    assert.deepStrictEqual(played.changes, {}, "the run changed nothing in the workspace")
    await this.assertPlaces()
    return played
  }

  async work(turn: LayerTurn): Promise<void> {
    const played = await this.play(this.edit(turn))
    const { commands, reads } = this.questions
    assert.deepStrictEqual(decidedBy(played), [
      ...(reads ? ["shell by local"] : []),
      ...(commands ? [...turn.tool.map(() => "write by policy:layer"), "shell by local"] : [])
    ])
    const last = played.modelRequests.at(-1) ?? ""
    for (const line of [...this.layer.hashes, ...this.built]) assert.include(last, line, "it saw its layer")
  }

  /** A turn without edits. */
  async playMessage(): Promise<void> {
    await this.play(promptFor("say", "I see"))
  }

  async decide({ accept, comment, reject }: LayerDecision): Promise<string> {
    const keysOf = (places: ReadonlyArray<LinePlace>) =>
      places.map((place) =>
        hunkKey(place.file, [`-${this.workspace.get(place)}`, `+${this.layer.get(place)}`])
      )
    const acceptance = await this.changes.decideHunks("accept", this.newest, keysOf(accept))
    for (const place of accept) this.workspace.set(place, this.layer.get(place))
    await this.assertPlaces()
    const rejection = await this.changes.decideHunks("reject", this.newest, keysOf(reject), { comment })
    for (const place of reject) this.layer.set(place, this.workspace.get(place))
    await this.assertPlaces()
    this.decisions = [...this.decisions, earlierDecision(acceptance), earlierDecision(rejection)]
    this.note = [
      ...this.note,
      "Accepted into the workspace:",
      "Rejected, and taken out of your files:",
      `Comment: ${comment}`
    ]
    return acceptance.decision.id
  }

  /** Everything that is open. */
  async acceptAll(): Promise<void> {
    const { set } = await this.changes.read(this.newest)
    const parts = { all: true, version: set.version }
    const acceptance = await this.changes.decide("accept", this.newest, { parts })
    this.workspace.setAll(this.layer)
    await this.assertPlaces()
    this.decisions = [...this.decisions, earlierDecision(acceptance)]
    this.note = [...this.note, "Accepted into the workspace:"]
  }

  /** Reverses an acceptance. `texts`: its lines as they were before. */
  async undo(decisionId: string, texts: ReadonlyArray<readonly [LinePlace, string]>): Promise<void> {
    const undo = await this.changes.decide("undo", this.newest, { decisionId })
    for (const [place, text] of texts) this.workspace.set(place, text)
    await this.assertPlaces()
    this.decisions = [...this.decisions, earlierDecision(undo, "accept")]
    this.note = [...this.note, "Taken back out of the workspace. The changes are open again:"]
  }

  /** The owner edits a line of the workspace, which the next turn sees. */
  editByOwner(place: LinePlace, text: string): void {
    for (const files of [this.workspace, this.layer]) files.set(place, text)
    this.workspace.write(this.stage.edge.workspace, place.file)
  }

  /** The owner commits everything, also what was accepted. */
  commitByOwner(): void {
    const root = this.stage.edge.workspace
    commitAll(root)
    this.repository = repositoryOf(root)
  }

  /** The workspace has what was accepted, its repository is as it was, and the set has what is open. */
  private async assertPlaces(): Promise<void> {
    const root = this.stage.edge.workspace
    this.workspace.assertIn(root)
    assert.deepStrictEqual(repositoryOf(root), this.repository)
    const hunks = await this.changes.hunks(this.newest)
    assert.sameMembers([...hunks.keys()], [...this.layer.changesFrom(this.workspace)])
  }
}
