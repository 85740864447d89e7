import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.PrivilegedExceptionAction;
import java.util.Arrays;
import javax.net.SocketFactory;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.ipc.VersionedProtocol;
import org.apache.hadoop.mapreduce.security.token.delegation.DelegationTokenIdentifier;
import org.apache.hadoop.security.RefreshUserMappingsProtocol;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol;
import org.apache.hadoop.security.token.Token;

/**
 * Asks a JobTracker with the stock client, each line of standard output a case: who may open which connection, from which
 * address, in whose name; and what becomes of delegation tokens. AccessProbe PORT COMMAND [ARG]...
 */
public class AccessProbe {
  /** Sockets that come from one address. */
  static class From extends SocketFactory {
    final String address;

    From(String address) {
      this.address = address;
    }

    public Socket createSocket() throws IOException {
      Socket socket = java.nio.channels.SocketChannel.open().socket();
      socket.bind(new InetSocketAddress(InetAddress.getByName(address), 0));
      return socket;
    }

    public Socket createSocket(String host, int port) throws IOException {
      throw new IOException("not used");
    }

    public Socket createSocket(InetAddress host, int port) throws IOException {
      throw new IOException("not used");
    }

    public Socket createSocket(String host, int port, InetAddress local, int localPort) throws IOException {
      throw new IOException("not used");
    }

    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) throws IOException {
      throw new IOException("not used");
    }
  }

  static final String[] PROTOCOLS = {
    "org.apache.hadoop.mapred.JobSubmissionProtocol 28",
    "org.apache.hadoop.mapred.InterTrackerProtocol 31",
    "org.apache.hadoop.mapred.TaskUmbilicalProtocol 19",
    "org.apache.hadoop.mapred.AdminOperationsProtocol 3",
    "org.apache.hadoop.security.RefreshUserMappingsProtocol 1",
    "org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol 1",
  };

  static Configuration conf = new Configuration();
  static int port;

  static UserGroupInformation user(String name) {
    String[] parts = name.split(" via ");
    if (parts.length == 1) {
      return UserGroupInformation.createRemoteUser(name);
    }
    return UserGroupInformation.createProxyUser(parts[0], UserGroupInformation.createRemoteUser(parts[1]));
  }

  static VersionedProtocol proxy(String protocol, String as, String from) throws Exception {
    String[] parts = protocol.split(" ");
    Class<?> type = Class.forName(parts[0]);
    return RPC.getProxy(type.asSubclass(VersionedProtocol.class), Long.parseLong(parts[1]),
        new InetSocketAddress("127.0.0.1", port), user(as), conf, new From(from));
  }

  /** The class and the first line of what went wrong. */
  static String shown(Throwable error) {
    while (error.getCause() != null && !(error instanceof RemoteException)) {
      error = error.getCause();
    }
    String text = error instanceof RemoteException
        ? ((RemoteException) error).getClassName() + " | " + error.getMessage() : error.toString();
    return text.split("\n")[0];
  }

  interface Call {
    String run() throws Exception;
  }

  static void line(String what, Call call) {
    String outcome;
    try {
      outcome = call.run();
    } catch (Throwable error) {
      outcome = shown(error);
    }
    System.out.println(what + ": " + outcome);
  }

  static void open(final String protocol, final String as, final String from) {
    String name = protocol.substring(protocol.lastIndexOf('.') + 1).split(" ")[0];
    line(name + " as " + as + " from " + from, new Call() {
      public String run() throws Exception {
        RPC.stopProxy(proxy(protocol, as, from));
        return "allowed";
      }
    });
  }

  /** Calls a method of the job clients' protocol by its name: the interface is not public. */
  static Object call(String as, String method, Object argument) throws Exception {
    final VersionedProtocol proxy = proxy(PROTOCOLS[0], as, "127.0.0.1");
    for (java.lang.reflect.Method found : Class.forName("org.apache.hadoop.mapred.JobSubmissionProtocol").getMethods()) {
      if (found.getName().equals(method)) {
        found.setAccessible(true);
        try {
          return java.lang.reflect.Proxy.getInvocationHandler(proxy).invoke(proxy, found, new Object[] {argument});
        } catch (Exception error) {
          throw error;
        } catch (Throwable error) {
          throw new Exception(error);
        }
      }
    }
    throw new IOException("no method " + method);
  }

  static DelegationTokenIdentifier identifier(Token<?> token) throws IOException {
    DelegationTokenIdentifier identifier = new DelegationTokenIdentifier();
    DataInputBuffer in = new DataInputBuffer();
    in.reset(token.getIdentifier(), token.getIdentifier().length);
    identifier.readFields(in);
    return identifier;
  }

  @SuppressWarnings("unchecked")
  static Token<DelegationTokenIdentifier> get(String as, String renewer) throws Exception {
    return (Token<DelegationTokenIdentifier>) call(as, "getDelegationToken", renewer == null ? null : new Text(renewer));
  }

  static String described(Token<?> token) throws IOException {
    DelegationTokenIdentifier said = identifier(token);
    return said.toString().replaceAll("(issueDate|maxDate|masterKeyId)=\\d+", "$1=N") + " lifetime=" + (said.getMaxDate() - said.getIssueDate())
        + " kind=" + token.getKind() + " service='" + token.getService() + "' password=" + token.getPassword().length;
  }

  static void renew(final String what, final Token<?> token, final String as) {
    line(what + ", renewed by " + as, new Call() {
      public String run() throws Exception {
        long until = (Long) call(as, "renewDelegationToken", token);
        long most = identifier(token).getMaxDate();
        long left = until - System.currentTimeMillis();
        return until == most ? "until its last date" : "for " + Math.round(left / 1000.0) + " s";
      }
    });
  }

  static void cancel(final String what, final Token<?> token, final String as) {
    line(what + ", cancelled by " + as, new Call() {
      public String run() throws Exception {
        call(as, "cancelDelegationToken", token);
        return "done";
      }
    });
  }

  static void tokens() throws Exception {
    Token<DelegationTokenIdentifier> token = get("alice", "oozie");
    System.out.println("a token: " + described(token));
    renew("it", token, "alice");
    renew("it", token, "bob");
    renew("it", token, "oozie");
    byte[] wrong = token.getPassword().clone();
    wrong[0]++;
    Token<DelegationTokenIdentifier> forged =
        new Token<DelegationTokenIdentifier>(token.getIdentifier(), wrong, token.getKind(), token.getService());
    renew("it with another password", forged, "oozie");
    DelegationTokenIdentifier altered = identifier(token);
    altered.setMasterKeyId(77);
    renew("it with an unknown key", new Token<DelegationTokenIdentifier>(altered.getBytes(), token.getPassword(),
        token.getKind(), token.getService()), "oozie");
    altered = identifier(token);
    altered.setMaxDate(1);
    renew("it with a date that is over", new Token<DelegationTokenIdentifier>(altered.getBytes(), token.getPassword(),
        token.getKind(), token.getService()), "oozie");
    cancel("it", token, "bob");
    cancel("it", token, "oozie");
    cancel("it", token, "oozie");
    renew("it", token, "oozie");
    Token<DelegationTokenIdentifier> second = get("alice", "oozie");
    cancel("another", second, "alice");
    Token<DelegationTokenIdentifier> lone = get("alice", "");
    System.out.println("a token without a renewer: " + described(lone));
    renew("it", lone, "alice");
    cancel("it", lone, "alice");
    Token<DelegationTokenIdentifier> proxied = get("games via hue", "games");
    System.out.println("a proxy user's token: " + described(proxied));
    renew("it", proxied, "games");
    cancel("it", proxied, "hue");
    cancel("it", proxied, "games via hue");
    renew("garbage", new Token<DelegationTokenIdentifier>(new byte[] {9}, new byte[0], token.getKind(), token.getService()), "oozie");
  }

  static void save(Token<?> token, String file) throws IOException {
    DataOutputBuffer out = new DataOutputBuffer();
    token.write(out);
    Files.write(Paths.get(file), Arrays.copyOf(out.getData(), out.getLength()));
  }

  static Token<DelegationTokenIdentifier> load(String file) throws IOException {
    byte[] bytes = Files.readAllBytes(Paths.get(file));
    DataInputBuffer in = new DataInputBuffer();
    in.reset(bytes, bytes.length);
    Token<DelegationTokenIdentifier> token = new Token<DelegationTokenIdentifier>();
    token.readFields(in);
    return token;
  }

  public static void main(String[] args) throws Exception {
    port = Integer.parseInt(args[0]);
    conf.setInt("ipc.client.connect.max.retries", 0);
    String command = args[1];
    if (command.equals("table")) {
      for (String protocol : PROTOCOLS) {
        for (String as : args[2].split(",")) {
          for (String from : args[3].split(",")) {
            open(protocol, as, from);
          }
        }
      }
    } else if (command.equals("refresh")) {
      final String as = args[2];
      line("refreshServiceAcl by " + as, new Call() {
        public String run() throws Exception {
          ((RefreshAuthorizationPolicyProtocol) proxy(PROTOCOLS[5], as, "127.0.0.1")).refreshServiceAcl();
          return "done";
        }
      });
      line("refreshSuperUserGroupsConfiguration by " + as, new Call() {
        public String run() throws Exception {
          ((RefreshUserMappingsProtocol) proxy(PROTOCOLS[4], as, "127.0.0.1")).refreshSuperUserGroupsConfiguration();
          return "done";
        }
      });
    } else if (command.equals("tokens")) {
      tokens();
    } else if (command.equals("save")) {
      save(get("alice", "oozie"), args[2]);
    } else if (command.equals("renew")) {
      renew("a saved token", load(args[2]), "oozie");
    } else if (command.equals("cancel")) {
      cancel("a saved token", load(args[2]), "alice");
    }
  }
}
