#!/usr/bin/env node
/**
 * The entry of every service: `node dist/edge`. Runs `main.cjs` or `main.mjs` beside it on a Node that is new enough, regardless of the `node` that was called.
 *
 * It is read by old Nodes too: nothing here is newer than Node 12. Required as a module it starts nothing and gives its functions.
 */
"use strict"

const path = require("path")

const NEEDED = [22, 19]

/** Whether a version such as `22.19.0` can run the service. */
function isNewEnough(version) {
  const parts = version.split(".").map(Number)
  return parts[0] > NEEDED[0] || (parts[0] === NEEDED[0] && parts[1] >= NEEDED[1])
}

/** The package with a Node binary for this machine. */
function packageOf(platform, arch) {
  return "node-" + platform + "-" + arch
}

/** The absolute path of the Node that was installed along, or undefined. `resolve` is `require.resolve`. */
function pinnedNode(platform, arch, resolve) {
  try {
    return path.join(path.dirname(resolve(packageOf(platform, arch) + "/package.json")), "bin", "node")
  } catch {
    return undefined
  }
}

/** The sentence for a machine without a Node that can run the service. */
function refusal(version) {
  return (
    "Corral needs Node " +
    NEEDED.join(".") +
    " or newer, and this is Node " +
    version +
    ": install Node 24 from https://nodejs.org and try again."
  )
}

/** Lives as long as the child: passes signals on, ends as it ended. */
function runAs(node, main, args) {
  const child = require("child_process").spawn(node, process.execArgv.concat(main, args), {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: Object.assign({}, process.env, { CORRAL_LAUNCHED: "1" })
  })
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"]
  // Ctrl-C reaches the child from the terminal too, and a second one means something else.
  const terminalTells = require("tty").isatty(0)
  for (const signal of signals) {
    process.on(signal, () => {
      if (signal !== "SIGINT" || !terminalTells) child.kill(signal)
    })
  }
  child.on("error", (error) => {
    process.stderr.write("Cannot start " + node + ": " + error.message + "\n")
    process.exit(1)
  })
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code)
    for (const each of signals) process.removeAllListeners(each)
    process.kill(process.pid, signal)
  })
}

/** A launcher that was killed cannot pass anything on: its child then ends as if it had been asked to. */
function endWithLauncher() {
  delete process.env.CORRAL_LAUNCHED
  process.on("disconnect", () => process.kill(process.pid, "SIGTERM"))
  // The channel itself keeps nothing alive.
  process.channel.unref()
}

/**
 * Whether npx has started this program, in a shell. Other programs may leave it running on purpose, those that npx has started too: they pass on the
 * variables of npx, with their own name.
 */
function isStartedByNpx(environment) {
  return (
    environment.npm_lifecycle_event === "npx" && /^["']?corral["']?$/.test(environment.npm_lifecycle_script)
  )
}

/** npx passes a signal on to its shell only, which ends without this program. The program then has another parent. */
function endWithNpx() {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, "SIGTERM")
  }, 250)
  timer.unref()
}

/**
 * The folder in which the user has called npm, if npm has started a script of this repository in another one, that of its package. Undefined otherwise, also
 * for a program that such a script has started elsewhere.
 */
function callersFolder(environment, current) {
  const isScript = environment.npm_package_name === "corral" && environment.npm_lifecycle_event !== undefined
  return isScript && path.dirname(environment.npm_package_json || "") === current
    ? environment.INIT_CWD
    : undefined
}

/** Relative paths are those of the user's folder. */
function enterCallersFolder() {
  const folder = callersFolder(process.env, process.cwd())
  if (folder === undefined) return
  try {
    process.chdir(folder)
  } catch {
    // The user can't enter it any longer: relative paths are those of the package then.
  }
}

function start() {
  enterCallersFolder()
  if (isStartedByNpx(process.env) && process.env.CORRAL_LAUNCHED === undefined) endWithNpx()
  if (isNewEnough(process.versions.node)) {
    // Compiled code is kept next to the bundle, where no other user can write.
    const compiled = require("module").enableCompileCache
    if (compiled !== undefined) compiled(path.join(__dirname, ".compiled"))
    if (process.env.CORRAL_LAUNCHED !== undefined && process.connected) endWithLauncher()
    if (require("fs").existsSync(path.join(__dirname, "main.cjs"))) require("./main.cjs")
    else {
      import("./main.mjs").catch((error) => {
        process.stderr.write(error.stack + "\n")
        process.exit(1)
      })
    }
    return
  }
  const node = pinnedNode(process.platform, process.arch, require.resolve)
  if (node === undefined) {
    process.stderr.write(refusal(process.versions.node) + "\n")
    process.exit(1)
  }
  runAs(node, __dirname, process.argv.slice(2))
}

if (require.main === module) start()
else module.exports = { callersFolder, isNewEnough, isStartedByNpx, packageOf, pinnedNode, refusal }
