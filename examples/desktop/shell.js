/**
 * Shell of the desktop client: a window of WebKitGTK whose page has the origin `app://corral`. It reads `edge.json` and the token, and hands them to its
 * own page in memory. Start: `gjs -m examples/desktop/shell.js`, after the page was built (README.md).
 */
import Gio from "gi://Gio"
import GLib from "gi://GLib"
import Gtk from "gi://Gtk?version=3.0"
import WebKit from "gi://WebKit2?version=4.1"
import { exit } from "system"

const folder = GLib.path_get_dirname(GLib.filename_from_uri(import.meta.url)[0])
const home = GLib.getenv("CORRAL_HOME") ?? GLib.build_filenamev([GLib.get_home_dir(), ".corral"])
const types = { html: "text/html", js: "text/javascript" }

const read = (path) => new TextDecoder().decode(GLib.file_get_contents(path)[1])
/** Read at each call: the Edge may have started again, at another port. */
const edgeLocation = () => {
  const { tokenFile, url } = JSON.parse(read(GLib.build_filenamev([home, "edge.json"])))
  return JSON.stringify({ url, token: read(tokenFile).trim() })
}

Gtk.init(null)
const context = WebKit.WebContext.new_ephemeral()
const security = context.get_security_manager()
security.register_uri_scheme_as_secure("app")
security.register_uri_scheme_as_cors_enabled("app")
context.register_uri_scheme("app", (request) => {
  // The window shows two files, whatever the page asks for.
  const name = request.get_path() === "/page.js" ? "page.js" : "page.html"
  const bytes = new GLib.Bytes(GLib.file_get_contents(GLib.build_filenamev([folder, name]))[1])
  request.finish(Gio.MemoryInputStream.new_from_bytes(bytes), bytes.get_size(), types[name.split(".")[1]])
})

const content = new WebKit.UserContentManager()
content.register_script_message_handler_with_reply("edge", null)
content.connect("script-message-with-reply-received::edge", (_, value, reply) => {
  try {
    reply.return_value(value.get_context().evaluate(`(${JSON.stringify(edgeLocation())})`, -1))
  } catch (error) {
    reply.return_error_message(String(error))
  }
  return true
})
content.add_script(
  new WebKit.UserScript(
    "globalThis.edgeLocation = async () => JSON.parse(await webkit.messageHandlers.edge.postMessage(null))",
    WebKit.UserContentInjectedFrames.TOP_FRAME,
    WebKit.UserScriptInjectionTime.START,
    ["app://*/*"],
    null
  )
)

const view = new WebKit.WebView({ web_context: context, user_content_manager: content })
// The page stays in this window: another address has no access to the Edge.
view.connect("decide-policy", (_, decision, type) => {
  if (type !== WebKit.PolicyDecisionType.NAVIGATION_ACTION) return false
  const { uri } = decision.get_navigation_action().get_request()
  if (uri.startsWith("app://corral/")) return false
  decision.ignore()
  return true
})
const window = new Gtk.Window({ title: "Corral", default_width: 720, default_height: 640 })
window.add(view)
window.connect("destroy", () => exit(0))
window.show_all()
view.load_uri("app://corral/")
Gtk.main()
