/** Command tree of `corral`. */
import { Command, Completions } from "effect/cli"
import { acpCommand } from "./commands/acp.ts"
import { adaptersCommand } from "./commands/adapters.ts"
import { answerCommand } from "./commands/answer.ts"
import { approveCommand } from "./commands/approve.ts"
import { approvalsCommand } from "./commands/approvals.ts"
import { artifactsCommand } from "./commands/artifacts.ts"
import { attachCommand } from "./commands/attach.ts"
import { auditCommand } from "./commands/audit.ts"
import { cancelCommand } from "./commands/cancel.ts"
import { chatCommand } from "./commands/chat.ts"
import { makeCompletionsCommand } from "./commands/completions.ts"
import { pauseCommand, unpauseCommand } from "./commands/pause.ts"
import { denyCommand } from "./commands/deny.ts"
import { deviceCommand } from "./commands/device.ts"
import { devicesCommand } from "./commands/devices.ts"
import { diffCommand } from "./commands/diff.ts"
import { doctorCommand } from "./commands/doctor.ts"
import { finishCommand } from "./commands/finish.ts"
import { hubCommand } from "./commands/hub.ts"
import { loginCommand, logoutCommand, whoamiCommand } from "./commands/login.ts"
import { normalizeCommand } from "./commands/normalize.ts"
import { previewCommand } from "./commands/preview.ts"
import { projectsCommand } from "./commands/projects.ts"
import { questionsCommand } from "./commands/questions.ts"
import { runCommand } from "./commands/run.ts"
import { runsCommand } from "./commands/runs.ts"
import { sayCommand } from "./commands/say.ts"
import { showCommand } from "./commands/show.ts"
import { upCommand } from "./commands/up.ts"
import { worktreeCommand } from "./commands/worktree.ts"

const completions = makeCompletionsCommand((): Completions.CommandDescriptor =>
  Completions.fromCommand(corral)
)

export const corral = Command.make("corral").pipe(
  Command.withDescription("Run coding agents next to your code, under supervision"),
  Command.withSubcommands([
    upCommand,
    chatCommand,
    acpCommand,
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
    worktreeCommand,
    artifactsCommand,
    previewCommand,
    loginCommand,
    logoutCommand,
    whoamiCommand,
    projectsCommand,
    devicesCommand,
    deviceCommand,
    auditCommand,
    doctorCommand,
    adaptersCommand,
    hubCommand,
    normalizeCommand,
    completions
  ])
)
