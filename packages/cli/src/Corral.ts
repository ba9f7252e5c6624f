/** Command tree of `corral`. */
import { Command, Completions } from "effect/cli"
import { acpCommand } from "./commands/acp.ts"
import { ahpCommand } from "./commands/ahp.ts"
import { adaptersCommand } from "./commands/adapters.ts"
import { agentsCommand } from "./commands/agents.ts"
import { answerCommand, questionsCommand } from "./commands/questions.ts"
import { approvalsCommand, approveCommand, denyCommand } from "./commands/approvals.ts"
import { artifactsCommand } from "./commands/artifacts.ts"
import { attachCommand, runCommand } from "./commands/run.ts"
import { auditCommand } from "./commands/audit.ts"
import { cancelCommand, finishCommand, pauseCommand, unpauseCommand } from "./commands/liveRun.ts"
import {
  acceptCommand,
  changesCommand,
  diffCommand,
  rejectCommand,
  undoCommand,
  worktreeCommand
} from "./commands/changes.ts"
import { compareCommand } from "./commands/compare.ts"
import { chatCommand } from "./commands/chat.ts"
import { makeCompletionsCommand } from "./commands/completions.ts"
import { deviceCommand, devicesCommand } from "./commands/device.ts"
import { doctorCommand } from "./commands/doctor.ts"
import { hubCommand } from "./commands/hub.ts"
import { loginCommand, logoutCommand, whoamiCommand } from "./commands/login.ts"
import { normalizeCommand, rawCommand } from "./commands/runOutput.ts"
import { previewCommand } from "./commands/preview.ts"
import { projectsCommand } from "./commands/projects.ts"
import { runsCommand, showCommand } from "./commands/runs.ts"
import { sayCommand } from "./commands/say.ts"
import { upCommand } from "./commands/up.ts"
import { usageCommand } from "./commands/usage.ts"

const completions = makeCompletionsCommand((): Completions.CommandDescriptor =>
  Completions.fromCommand(corral)
)

export const corral = Command.make("corral").pipe(
  Command.withDescription("Run coding agents next to your code, under supervision"),
  Command.withSubcommands([
    upCommand,
    chatCommand,
    acpCommand,
    ahpCommand,
    runCommand,
    runsCommand,
    attachCommand,
    showCommand,
    sayCommand,
    approvalsCommand,
    approveCommand,
    denyCommand,
    questionsCommand,
    answerCommand,
    finishCommand,
    pauseCommand,
    unpauseCommand,
    cancelCommand,
    diffCommand,
    changesCommand,
    acceptCommand,
    rejectCommand,
    undoCommand,
    compareCommand,
    worktreeCommand,
    artifactsCommand,
    previewCommand,
    rawCommand,
    loginCommand,
    logoutCommand,
    whoamiCommand,
    projectsCommand,
    usageCommand,
    devicesCommand,
    deviceCommand,
    auditCommand,
    doctorCommand,
    agentsCommand,
    adaptersCommand,
    hubCommand,
    normalizeCommand,
    completions
  ])
)
