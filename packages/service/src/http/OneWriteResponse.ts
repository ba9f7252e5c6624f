/**
 * Response whose headers and body are one write to the socket.
 *
 * Effect sets `strictContentLength` on each response. Node then compares the length of the body with its header and sends an empty last chunk,
 * so that each answer is two buffers and a slower call of the system (`writev`; measurements in ADR 40). Bodies are complete when Effect
 * writes them, and their header is their length, so the comparison finds nothing.
 */
import { ServerResponse } from "node:http"

export class OneWriteResponse extends ServerResponse {}

// Before the constructor of Node assigns the property: an assignment then calls the setter and makes no property of the response.
Object.defineProperty(OneWriteResponse.prototype, "strictContentLength", { get: () => false, set: () => {} })
