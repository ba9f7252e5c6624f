/** Processes that are left behind on purpose: what a supervisor must find and end. They end by themselves within two minutes. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { say } from "./Agent.mjs"

const SECONDS = 120

export const children = async (count) => {
  const pids = Array.from({ length: count }, () => {
    const child = spawn("sleep", [String(SECONDS)], { stdio: "ignore" })
    child.unref()
    return child.pid
  })
  await say(`children ${pids.join(" ")}`)
}

/** A session of its own, no parent, and our stdout in its hand. */
export const daemon = async () => {
  const forker = spawn("sh", ["-c", `sleep ${SECONDS} >&3 2>/dev/null & echo $!`], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore", 1]
  })
  const [pid] = await once(forker.stdout.setEncoding("utf8"), "data")
  await say(`daemon ${pid.trim()}`)
}

/** Each generation starts the next in a new session and ends: 200 of them, 50 ms apart, for 30 s at most. */
export const forkloop = async () => {
  const generation = `
    test "$1" -gt 0 && test "$(date +%s)" -lt "$2" || exit 0
    sleep 0.05
    if command -v setsid >/dev/null; then setsid sh -c "$3" forkloop $(($1 - 1)) "$2" "$3" &
    else sh -c "$3" forkloop $(($1 - 1)) "$2" "$3" & fi`
  const deadline = Math.floor(Date.now() / 1000) + 30
  const child = spawn("sh", ["-c", generation, "forkloop", "200", String(deadline), generation], {
    detached: true,
    stdio: "ignore"
  })
  child.unref()
  await say(`forkloop ${child.pid}`)
}

/** A session of its own, no parent, and nothing in its environment. */
export const vanish = async () => {
  // It says its own number once it has vanished, and not before.
  const vanished = `echo $$; exec env -i sleep ${SECONDS} >/dev/null`
  const forker = spawn("sh", ["-c", `env -i setsid sh -c '${vanished}' </dev/null 2>/dev/null &`], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"]
  })
  const [pid] = await once(forker.stdout.setEncoding("utf8"), "data")
  await say(`vanished ${pid.trim()}`)
}
