#!/usr/bin/env node
/**
 * The scripted runtime: an agent without a model. It plays the prompt as a little script, or a short default story, over a duplex
 * protocol of JSON lines. First runs, tests and load generators use it; it really reads, writes and runs, in its working directory.
 *
 * Host → program, one JSON object a line:
 *   {"type":"start","prompt","mode","model"?,"session"?}  first; mode as in a run: read_only, plan, ask, auto_edit, full_access
 *   {"type":"decision","id","allow":true,"input"?}        answers an approval; `input` replaces what was asked for
 *   {"type":"decision","id","allow":false,"reason"?}
 *   {"type":"input","text"}                               a further message: `/wait` takes it, else it is played after the script
 *   {"type":"response","id","answers","comment"?}         answers a question
 *   {"type":"response","id","approved","mode"?,"comment"?,"endsRun"?}   decides a plan
 *   {"type":"response","id","unanswered"}                 nobody answered, with the reason; the script goes on without a choice
 *   {"type":"cancel"}
 *
 * Program → host:
 *   {"type":"hello","session","version","mode"}
 *   {"type":"delta","id","channel","text"}                channel: text or reasoning
 *   {"type":"message","id","channel","text"}              the whole message
 *   {"type":"tool","id","tool","label","input"}           a call begins
 *   {"type":"result","id","status","output"?,"exitCode"?} status: completed, failed, denied or cancelled
 *   {"type":"approval","id","request"}                    waits for the decision with that id
 *   {"type":"withdrawn","id","reason"}                    does not wait any more
 *   {"type":"question","id","request"}                    waits for the response with that id
 *   {"type":"unasked","id","state"}                       does not wait for it any more; state: withdrawn or self_answered
 *   {"type":"work","id","kind","title","state","continues"?,"parent"?}   work in the background; state: running, or how it ended
 *   {"type":"turn","ended"?}                              a further turn begins; ended: the result of a turn that ended without a pause
 *   {"type":"steps","steps"}  {"type":"notice","kind","text"}
 *   {"type":"read","path","call"}  {"type":"file","path","change","call"}  {"type":"patch","path","patch","call"}
 *   {"type":"usage","usage"}                              what the run has used so far
 *   {"type":"artifact","name","mediaType","content","encoding"?,"call"?}   something to be kept; encoding: base64
 *   {"type":"done","status","text"?,"message"?}           status: completed, failed or cancelled. The turn has ended: it plays further
 *                                                         inputs as turns, and leaves when stdin ends
 *
 * Directives, one a line; in a prompt that has any, other lines are said as text:
 *   /say TEXT  /think TEXT  /read PATH  /list  /write PATH TEXT (`\n` is a newline)  /shell COMMAND  /sleep MS
 *   /stream COUNT RATE SIZE    deltas at RATE a second (0: as fast as the pipe takes them); each starts with the sending time in ns
 *   /ask                       an approval without an effect
 *   /flood COUNT LENGTH PIECE  so many approvals without an effect at once, each of a command that repeats PIECE up to LENGTH characters
 *   /use TOKENS [USD]          says that so many tokens, one turn and so many dollars more are used
 *   /artifact NAME TYPE TEXT   makes an artifact of that media type (`\n` is a newline)
 *   /attach PATH TYPE          makes an artifact of a file
 *   /wait                      waits for one further input and says it
 *   /question TEXT | OPTION | OPTION ...   asks, and says the answer; without options the answer is a text, with `?` before OPTION several
 *   /form JSON                 asks what the JSON object requests, and says the answer
 *   /secret TEXT               asks for a secret text, and writes it to secret.txt
 *   /plan TEXT                 hands over a plan (`\n` is a newline), and says the decision
 *   /withdraw TEXT  /self-answer TEXT   asks, and goes on without waiting
 *   /ask-next TEXT             ends the turn with a question: the answer is played as the next turn
 *   /work ID KIND TITLE        work in the background begins: agent, command, goal or timer
 *   /worked ID STATE [continues]   and ends: completed, failed or stopped; `continues`: a turn follows because of it
 *   /end-turn  /turn           the turn ends here and the script goes on in the background; a further turn begins by itself
 *   /turn TEXT                 the same during a turn, which ends without a pause and with that result
 *   /steps STATE TEXT | STATE TEXT ...   the list of steps; state: pending, in_progress, completed or cancelled
 *   /notice KIND TEXT          compacted, model_changed, rate_limited, warning, refused or other
 *   /as MODEL LINE             plays the line only with that model
 *   /image                     a call whose result has an image
 *   /fail MESSAGE  /exit CODE  /crash  /hang
 *   /ignore-signals            SIGINT, SIGTERM and SIGHUP do nothing from here on
 *   /children N  /daemon  /forkloop  /vanish    processes left behind on purpose; they end by themselves within two minutes
 *   /breach PATH               writes the file in every mode, without an event
 *   /garbage N  /longline MB  /close-stdout
 */
import { randomUUID } from "node:crypto"
import { setImmediate as breathe, setTimeout as pause } from "node:timers/promises"
import {
  agent,
  ask,
  attach,
  closeAll,
  image,
  list,
  next,
  read,
  say,
  shell,
  write
} from "./scripted/Agent.mjs"
import {
  cancelled,
  flushed,
  host,
  leave,
  nextInput,
  send,
  started,
  write as writeOut
} from "./scripted/Host.mjs"
import * as asking from "./scripted/Questions.mjs"
import { children, daemon, forkloop, vanish } from "./scripted/LeftBehind.mjs"
import { breach, closeStdout, garbage, hang, longline } from "./scripted/Mischief.mjs"
import { endTurn, startTurn, turn, work, worked } from "./scripted/Turns.mjs"
import { story } from "./scripted/Story.mjs"

const VERSION = "1.0.0"

if (process.argv.includes("--version")) {
  process.stdout.write(`${VERSION} (Scripted runtime)\n`)
  process.exit(0)
}

const stream = async (count, rate, size) => {
  const id = next("m")
  const delta = () => {
    const time = `${process.hrtime.bigint()} `
    return `${JSON.stringify({ type: "delta", id, channel: "text", text: time.padEnd(size, "x") })}\n`
  }
  const begin = performance.now()
  for (let sent = 0; sent < count;) {
    cancelled.throwIfAborted()
    const due = rate === 0 ? sent + 64 : Math.floor(((performance.now() - begin) * rate) / 1000) + 1
    let text = ""
    for (; sent < Math.min(count, due); sent++) text += delta()
    if (text !== "") await writeOut(text)
    if (rate === 0) await breathe()
    else await pause(Math.max(0, (sent * 1000) / rate - (performance.now() - begin)))
  }
}

const used = { outputTokens: 0, turns: 0 }

/** The script ends here, with these words. */
class End extends Error {
  constructor(done) {
    super(done.message)
    this.done = done
  }
}

const numbers = (text) => text.split(/\s+/).map(Number)

const directives = {
  say: (text) => say(text),
  think: (text) => say(text, { channel: "reasoning" }),
  read,
  list,
  write: (text) => {
    const [, name = "", content = ""] = /^(\S*)\s*(.*)$/s.exec(text) ?? []
    return write(name, `${content.replaceAll("\\n", "\n")}\n`)
  },
  shell,
  sleep: (ms) => pause(Number(ms), undefined, { signal: cancelled }),
  stream: (text) => {
    const [count = 100, rate = 0, size = 64] = numbers(text)
    return stream(count, rate, size)
  },
  ask: async () => {
    const { allow, reason } = await ask({
      action: "write",
      risk: "low",
      title: "An approval without an effect",
      editable: false
    })
    await say(allow ? "allowed" : `denied: ${reason ?? "no reason"}`)
  },
  flood: async (text) => {
    const [, count = "1", length = "1", piece = "x"] = /^(\d+)\s+(\d+)\s+(.+)$/s.exec(text) ?? []
    const command = piece.repeat(Math.ceil(Number(length) / piece.length)).slice(0, Number(length))
    const one = { action: "shell", risk: "low", title: "An approval of many", command }
    const answers = await Promise.all(Array.from({ length: Number(count) }, () => ask(one)))
    const allowed = answers.filter(({ allow }) => allow).length
    await say(`${allowed} of ${count} allowed`)
  },
  use: (text) => {
    const [tokens = 0, usd] = numbers(text)
    used.outputTokens += tokens
    used.turns++
    // Thousandths of a cent: sums of dollars are not exact.
    if (usd !== undefined) used.costUsd = Math.round(((used.costUsd ?? 0) + usd) * 1e6) / 1e6
    return send({ type: "usage", usage: used })
  },
  artifact: (text) => {
    const [, name = "", mediaType = "", content = ""] = /^(\S*)\s*(\S*)\s*(.*)$/s.exec(text) ?? []
    return send({ type: "artifact", name, mediaType, content: content.replaceAll("\\n", "\n") })
  },
  attach: (text) => attach(...text.split(/\s+/)),
  question: asking.question,
  form: asking.form,
  secret: asking.secret,
  plan: asking.plan,
  withdraw: (text) => asking.leave(text, "withdrawn"),
  "self-answer": (text) => asking.leave(text, "self_answered"),
  "ask-next": asking.askNext,
  work,
  worked,
  "end-turn": () => endTurn({ status: "completed", text: agent.lastText }),
  turn: (text) => startTurn(text === "" ? undefined : text),
  steps: (text) => {
    const steps = text.split("|").map((step, at) => {
      const [, state = "pending", words = ""] = /^(\S+)\s*(.*)$/s.exec(step.trim()) ?? []
      return { id: String(at + 1), text: words, state }
    })
    return send({ type: "steps", steps })
  },
  notice: (text) => {
    const [, kind = "other", words = ""] = /^(\S+)\s*(.*)$/s.exec(text) ?? []
    return send({ type: "notice", kind, text: words })
  },
  image,
  wait: async () => say((await nextInput()) ?? "nobody said anything"),
  fail: (message) => {
    throw new End({ status: "failed", message: message === "" ? "The script asked to fail." : message })
  },
  exit: async (code) => {
    // What was printed goes out first: process.exit would cut it.
    await flushed()
    process.exit(Number(code))
  },
  crash: async () => {
    await flushed()
    process.kill(process.pid, "SIGKILL")
    return hang()
  },
  hang,
  breach,
  "ignore-signals": () => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {})
  },
  children: (count) => children(Number(count)),
  daemon,
  forkloop,
  vanish,
  garbage: (count) => garbage(Number(count)),
  longline: (megabytes) => longline(Number(megabytes)),
  "close-stdout": closeStdout
}

/** The line, if it is for this model; nothing, if it is for another one. */
const lineFor = (line, model) => {
  const [command, name, ...rest] = line.split(" ")
  return command !== "/as" ? line : name === model ? rest.join(" ") : ""
}

const play = async (prompt) => {
  const lines = prompt.split("\n")
  if (!lines.some((line) => line.startsWith("/"))) return story(prompt)
  for (const each of lines) {
    cancelled.throwIfAborted()
    const line = lineFor(each, agent.model)
    const [, name, rest = ""] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? []
    if (name === undefined) {
      if (line.trim() !== "") await say(line)
    } else if (Object.hasOwn(directives, name)) await directives[name](rest.trimEnd())
    else throw new End({ status: "failed", message: `There is no directive /${name}.` })
  }
}

/** Plays an input, as a further turn if the last one has ended. */
const playNext = async (input) => {
  if (turn.hasEnded) await startTurn()
  await play(input)
}

/** Ends the turn; the last one of a script that failed or was cancelled. */
const finish = async (done) => {
  await closeAll(done.status === "cancelled" ? "cancelled" : "failed")
  await endTurn(done)
}

const first = await started
if (first === undefined) process.exit(0)
agent.mode = first.mode ?? "ask"
agent.model = first.model
await send({ type: "hello", session: first.session ?? randomUUID(), version: VERSION, mode: agent.mode })
try {
  await play(String(first.prompt ?? ""))
  while (host.inputs.length > 0) await playNext(host.inputs.shift())
  if (!turn.hasEnded) await finish({ status: "completed", text: agent.lastText })
  leave()
  for (let text = await nextInput(); text !== undefined; text = await nextInput()) {
    await playNext(text)
    if (!turn.hasEnded) await finish({ status: "completed", text: agent.lastText })
  }
} catch (cause) {
  if (cancelled.aborted) await finish({ status: "cancelled" })
  else if (cause instanceof End) await finish(cause.done)
  else await finish({ status: "failed", message: cause.message })
}
leave()
